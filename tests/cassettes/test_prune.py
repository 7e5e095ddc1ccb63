"""The files that `miniwob-agent cassettes prune` removes."""

from cassette_files import plant

from pytest_miniwob_agent.cassettes.folder.prune import prunable_files, remove_files
from pytest_miniwob_agent.cassettes.folder.stems import Used


def test_only_files_that_no_item_uses_are_removed(tmp_path):
    kept = [
        plant(tmp_path, "reflective/m/click-menu-2/1.yaml"),
        plant(tmp_path, "reflective/m/click-menu-2/1.partial.yaml"),
        plant(tmp_path, "reflective/other/click-menu-2/9.yaml"),
        plant(tmp_path, "reflective/other/click-menu-2/1.unused.yaml"),
        plant(tmp_path, "test_mine/test_weather.yaml", "interactions: []\nversion: 1\n"),
    ]
    removed = [
        plant(tmp_path, "reflective/m/click-menu-2/1.unused.yaml"),
        plant(tmp_path, "reflective/m/click-menu-2/9.partial.yaml"),
        plant(tmp_path, "reflective/m/gone-task/1.yaml"),
        plant(tmp_path, "reflective/m/click-menu-2/.1.yaml.77", "half"),
    ]
    paths = prunable_files(Used(tmp_path, {"reflective/m/click-menu-2/1"}))
    assert paths == removed
    remove_files(tmp_path, paths)
    assert all(path.exists() for path in kept)
    assert not any(path.exists() for path in removed)
    assert not (tmp_path / "reflective/m/gone-task").exists()


def test_folders_are_removed_up_to_the_cassette_folder(tmp_path):
    path = plant(tmp_path, "reflective/m/click-menu-2/1.yaml")
    remove_files(tmp_path, [path])
    assert list(tmp_path.iterdir()) == []
