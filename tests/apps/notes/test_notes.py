import pytest

from pytest_miniwob_agent import AppTask


def prepare(app, seed):
    app.notes.clear()
    app.notes.update({1: "Milk", 2: "Bread"})


def tasks(app):
    return [
        AppTask(
            f"save-{app}",
            app=app,
            setup=prepare,
            goal='Write a note with the title "Eggs", and delete the note Milk.',
            reward=lambda app, trial: int({"Bread", "Eggs"} == set(app.notes.values())),
            scrub={r'(?<="written":")[^"]*': "just now"},
        ),
        AppTask(
            f"search-{app}",
            app=app,
            setup=prepare,
            goal="Search for bread, and delete what is found.",
            reward=lambda app, trial: int("Bread" not in app.notes.values()),
        ),
    ]


@pytest.mark.miniwob(*tasks("built"), *tasks("dev"), seeds=[1])
def test_notes(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
