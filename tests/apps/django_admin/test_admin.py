import pytest
from django.contrib.auth.models import User

from pytest_miniwob_agent import AppTask


def prepare(app, seed):
    User.objects.all().delete()
    User.objects.create_superuser("admin", password="secret", id=1)
    User.objects.create_user("bob", id=2)
    User.objects.update(date_joined="2026-01-01T12:00Z")


def exists(name):
    return User.objects.filter(username=name).exists()


ADD = AppTask(
    "add-user",
    app="live_server",
    start="/admin/",
    setup=prepare,
    goal='Log in as admin with the password secret, and add the user "carol", password Xk29-sop.',
    reward=lambda app, trial: int(exists("carol")),
)
DELETE = AppTask(
    "delete-user",
    app="live_server",
    start="/admin/",
    setup=prepare,
    goal="Log in as admin with the password secret, and delete the user bob.",
    reward=lambda app, trial: int(not exists("bob")) if exists("admin") else -1,
)


@pytest.mark.miniwob(ADD, DELETE, seeds=[1])
def test_admin(miniwob_episode):
    assert miniwob_episode.solved, miniwob_episode.explain()
