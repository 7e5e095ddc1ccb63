import sqlite3
from contextlib import closing

import pytest
from shop import PRICES

from pytest_miniwob_agent import AppTask


def orders(app, statement):
    with closing(sqlite3.connect(app.app.config["DATABASE"], isolation_level=None)) as database:
        return database.execute(statement).fetchall()


def judge(app, trial):
    made = orders(app, "SELECT who, address, products FROM orders")
    return 0 if not made else 1 if made == [("ann", "5 Quay", "mug mug")] else -1


def wanted(seed):
    return sorted(PRICES)[seed % len(PRICES)]


ORDER = AppTask(
    "order",
    app="live_server",
    setup=lambda app, seed: orders(app, "DELETE FROM orders"),
    goal="Log in as ann with the password tea, and order two mugs to the address 5 Quay.",
    reward=judge,
)
PRICE = AppTask(
    "price",
    app="live_server",
    start=lambda seed: f"/?q={wanted(seed)[0]}",
    goal=lambda seed: f"Log in as ann, password tea, and answer what a {wanted(seed)} costs.",
    solved_when=lambda trial: (
        None if trial.answer is None else trial.answer == str(PRICES[wanted(trial.seed)])
    ),
)


@pytest.mark.miniwob(ORDER, PRICE, seeds=[1])
def test_shop(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
