"""The script that runs first in every page."""

from pathlib import Path

from pytest_miniwob_agent.browser import page


def test_every_file_of_the_page_script_is_in_it_once():
    files = {path.stem for path in Path(page.__file__).parent.glob("*.js")}
    assert sorted(page.FILES) == sorted(files)
    script = page.page_script()
    for name in files:
        source = Path(page.__file__).with_name(f"{name}.js").read_text(encoding="utf-8")
        assert script.count(source) == 1
