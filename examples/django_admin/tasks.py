"""Five tasks on Django's admin.

pytest-django's `live_server` runs the admin while an item is recorded; a replay needs no Django.
"""

from pytest_miniwob_agent import AppTask

LOGIN = "Log in as admin with the password secret"


def prepare(app, seed):
    """Two groups, an administrator, and four people, one of whom is staff."""
    from django.contrib.auth.models import Group, Permission, User
    from django.db.models import F

    User.objects.all().delete()
    Group.objects.all().delete()
    # The admin shows keys, and when users joined: each recording is to show the same.
    User.objects.create_superuser("admin", password="secret", id=1)
    for id_, name in enumerate(("alice", "bob", "carol", "dave"), start=2):
        User.objects.create_user(name, f"{name}@example.com", first_name=name.title(), id=id_)
    User.objects.filter(username="dave").update(is_staff=True)
    User.objects.update(date_joined="2026-01-01T12:00Z")
    for id_, name in enumerate(("editors", "readers"), start=1):
        Group.objects.create(name=name, id=id_)
    # Django makes the permissions anew after each test, and goes on counting their keys.
    before = Permission.objects.earliest("id").id - 1
    Permission.objects.update(id=F("id") - before)


def users(**fields):
    """True if there are users with these fields, and still an administrator."""
    from django.contrib.auth.models import User

    return User.objects.filter(**fields).exists()


def task(name, goal, **judge):
    """A task on the admin, which logs in first."""
    return AppTask(
        name, app="live_server", start="/admin/", setup=prepare, goal=f"{LOGIN}, {goal}", **judge
    )


def only_if_admin_stays(judge):
    """A judge that gives -1 to whoever loses the administrator."""
    return lambda app, trial: judge() if users(username="admin", is_superuser=True) else -1


TASKS = [
    task(
        "add-group",
        "and add a group called reviewers.",
        reward=only_if_admin_stays(lambda: has_group("reviewers")),
    ),
    task(
        "delete-user",
        "and delete the user bob.",
        reward=only_if_admin_stays(lambda: not users(username="bob")),
    ),
    task(
        "change-address",
        "and change the e-mail address of carol to carol@example.org.",
        reward=only_if_admin_stays(
            lambda: users(username="carol", email="carol@example.org", first_name="Carol")
        ),
    ),
    task(
        "join-group",
        "and make alice a member of the group readers.",
        reward=only_if_admin_stays(lambda: users(username="alice", groups__name="readers")),
    ),
    task(
        "find-staff",
        "and answer with the e-mail address of the user, other than admin, who has staff status.",
        solved_when=lambda trial: trial.answer and "dave@example.com" in trial.answer,
    ),
]


def has_group(name):
    """True if there is a group of this name."""
    from django.contrib.auth.models import Group

    return Group.objects.filter(name=name).exists()
