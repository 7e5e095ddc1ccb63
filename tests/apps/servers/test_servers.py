import pytest

from pytest_miniwob_agent import AppTask


def shows(text):
    def shown(trial):
        elements = trial.observation.elements
        return any(text in (each.text, each.value) for each in elements) or None

    return shown


def prepare(app, seed):
    app.ask("DELETE FROM product")
    app.ask("INSERT INTO product (name, price) VALUES ('mug', 3), ('jug', 5)")


def names(app):
    return {name for (name,) in app.ask("SELECT name FROM product")}


TASKS = [
    AppTask(
        "add-product",
        app="flask_admin",
        start="/admin/product/",
        setup=prepare,
        goal="Add the product vase with the price 7.",
        reward=lambda app, trial: int(("vase", 7) in app.ask("SELECT name, price FROM product")),
    ),
    AppTask(
        "delete-product",
        app="flask_admin",
        start="/admin/product/",
        setup=prepare,
        goal="Delete the product mug.",
        reward=lambda app, trial: 0 if "mug" in names(app) else 1 if "jug" in names(app) else -1,
    ),
    AppTask(
        "datasette",
        app="datasette",
        start="/shop",
        goal="Answer how many cups cost more than 3.",
        solved_when=lambda trial: None if trial.answer is None else trial.answer == "45",
        scrub={r"took [\d.]+ms": "took a moment"},
    ),
    AppTask("gradio", app="gradio", goal="Have gradio greet Ann.", solved_when=shows("Hello Ann!")),
    AppTask(
        "streamlit",
        app="streamlit",
        goal="Have streamlit greet Ann.",
        solved_when=shows("Hello Ann!"),
    ),
    AppTask(
        "jupyter",
        app="jupyter",
        start="/lab",
        goal="Compute 6 * 7 in a new notebook of jupyter.",
        solved_when=shows("42"),
        scrub={
            r"/[^\s\"]*/test_servers_\w*": "/notebooks",
            r"20\d\d-\d\d-\d\dT[\d:.]+": "2026-01-01T12:00:00",
        },
    ),
]


@pytest.mark.miniwob(*TASKS, seeds=[1], trials=1)
def test_servers(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
