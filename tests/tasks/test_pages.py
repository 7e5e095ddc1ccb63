"""Folders of custom pages: their tasks and categories, and names that can't be."""

from pathlib import Path

import pytest

from pytest_miniwob_agent import AppTask
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.tasks.catalogue import Catalogue, TaskPage
from pytest_miniwob_agent.tasks.selectors import select_cases, select_tasks


@pytest.fixture
def folder(tmp_path):
    def make(*files, name="pages"):
        for file in files:
            path = tmp_path / name / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.touch()
        return tmp_path / name

    return make


def own_tasks(*folders):
    pages = Catalogue(folders).pages.values()
    return {f"{page.category}/{page.task}": page for page in pages if page.root is not None}


def test_pages_are_tasks_and_folders_are_categories(folder):
    pages = folder("login.html", "billing/pay.html", "billing/old/refund.html", "style.css")
    found = own_tasks(pages)
    assert list(found) == ["billing.old/refund", "billing/pay", "pages/login"]
    assert found["billing/pay"].file == pages / "billing" / "pay.html"
    assert {page.root for page in found.values()} == {pages}


def test_a_folder_with_an_index_is_one_task_that_reaches_that_folder_alone(folder):
    pages = folder("shop/index.html", "shop/cart.html", "shop/help/index.html", "a/b/index.html")
    found = own_tasks(pages)
    assert list(found) == ["a/b", "pages/shop"]
    assert found["pages/shop"].root == pages / "shop"
    assert list(own_tasks(pages / "shop")) == ["shop/shop"]


def test_drafts_hidden_files_and_links_to_folders_are_left_out(folder):
    pages = folder("a.html", "_layout.html", ".git/x.html", "_parts/y.html")
    (pages / "again").symlink_to(pages)
    assert list(own_tasks(pages)) == ["pages/a"]


def test_own_tasks_are_selected_by_name_category_and_glob_and_are_in_the_suite_all(folder):
    catalogue = Catalogue([folder("login.html", "billing/pay.html"), folder("x.html", name="more")])
    assert select_tasks(["login"], catalogue) == [("pages", "login")]
    assert select_tasks(["bill*"], catalogue) == [("billing", "pay")]
    assert len(select_tasks(["all"], catalogue)) == 137
    assert len(select_tasks(["paper"], catalogue)) == 43
    assert [case.id for case in select_cases(["more"], [3], catalogue=catalogue)] == ["more/x/3"]
    with pytest.raises(UsageError, match=r"did you mean billing.*categories are .* billing, pages"):
        select_tasks(["biling"], catalogue)


def test_pages_of_a_suite_are_there_where_a_selector_names_it(folder):
    assert select_tasks(["reflection/popup"]) == [("reflection", "popup")]
    assert len(select_tasks(["reflection"])) == len(select_tasks(["reflection", "reflection/p*"]))
    with pytest.raises(UsageError, match="no task"):
        select_tasks(["popup"])
    mine = folder("popup.html")
    assert select_tasks(["popup", "pages/*"], Catalogue([mine])) == [("pages", "popup")]
    with pytest.raises(UsageError, match=r"suites/reflection/popup.html and .*pages/popup.html "):
        select_tasks(["reflection"], Catalogue([mine]))
    own = Catalogue([folder("reflection/mine.html", "popup.html")])
    assert select_tasks(["reflection"], own) == [("reflection", "mine")]


def test_a_name_that_is_taken_is_an_error_that_names_both_files(folder):
    with pytest.raises(UsageError, match=r"pages/click-tab.html and .*miniwob/click-tab.html of "):
        Catalogue([folder("click-tab.html")])
    with pytest.raises(UsageError, match=r"b/pay.html and .*a/pay.html are both called 'pay'"):
        Catalogue([folder("b/pay.html", "a/pay.html")])
    one, two = folder("x.html", name="one"), folder("x/index.html", name="more")
    with pytest.raises(UsageError, match=r"more/x/index.html and .*one/x.html are both"):
        Catalogue([one, two])
    assert list(own_tasks(one, one / ".." / "one")) == ["one/x"]


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("a b.html", "can't be called 'a b'; use ASCII letters"),
        ("seite-ä.html", "can't be called 'seite-ä'"),
        ("my shop/pay.html", "can't be called 'my shop'"),
        ("paper.html", "its task would be called 'paper', which selects tasks of the miniwob"),
        ("other/x.html", "its category would be called 'other', which selects"),
    ],
)
def test_a_name_that_no_id_or_selector_can_have_is_an_error(folder, file, message):
    with pytest.raises(UsageError, match=message) as error:
        Catalogue([folder(file)])
    assert file in str(error.value)


def test_a_name_that_an_app_s_task_can_not_have_is_an_error(tmp_path):
    def add(name, **more):
        task = AppTask(name, app="app", goal="Go.", solved_when=lambda trial: None, **more)
        Catalogue().add(TaskPage(task.name, task.category, tmp_path / "test_x.py", app=task))

    for given in ({"name": "all"}, {"name": "buy", "category": "paper"}):
        with pytest.raises(UsageError, match=r"an AppTask: .*: give it another name or category"):
            add(**given)
    with pytest.raises(UsageError, match="name must be a string, not None"):
        add(None)


@pytest.mark.parametrize(
    ("src", "file"),
    [
        ("more.js", "shop/more.js"),
        ("../more.js", "more.js"),
        ("/more.js", "more.js"),
        ("/shop/more.js", "shop/more.js"),
    ],
)
def test_a_perturbation_may_be_declared_in_a_script_that_a_page_names(folder, src, file):
    pages = folder("shop/pay.html", "shop/more.js", "more.js")
    (pages / "shop" / "pay.html").write_text(f'<script src="{src}"></script>')
    (pages / file).write_text('task.perturb = { language: { Pay: "Zahlen" } };')
    assert select_tasks(["pay~lang*"], Catalogue([pages])) == [("shop", "pay~language")]


@pytest.mark.parametrize(
    ("declared", "kinds"),
    [
        ('task = { perturb: { language: { moved: "x" } }, goal: "moved" }; // twins', {"language"}),
        (
            'task.perturb = {"moved": "ul", twins() { expired(); }}; reworded(1);',
            {"moved", "twins"},
        ),
        ("const twins = 1, moved = 2; task = { perturb: { moved, twins } };", {"moved", "twins"}),
        ("task.perturb = { ...shared, moved }; shared.language = {};", {"moved", "language"}),
        ("task.perturb = shared({ moved: 'ul' });", {"moved"}),
    ],
)
def test_the_perturbations_of_a_page_are_those_that_it_declares(folder, declared, kinds):
    pages = folder("pay.html")
    (pages / "pay.html").write_text(f"<script>{declared}</script>")
    names = [name for _, name in select_tasks(["pay~*"], Catalogue([pages]))]
    needing = {"moved", "reworded", "language", "twins", "expired"}
    assert {name.partition("~")[2] for name in names} & needing == kinds


def test_a_folder_without_pages_is_an_error_that_says_how_to_write_one(folder, tmp_path):
    with pytest.raises(UsageError, match=r"has no pages: .*miniwob-agent new-task NAME --pages"):
        Catalogue([folder("style.css")])
    with pytest.raises(UsageError, match=r"there is no folder of pages .*none"):
        Catalogue([Path(tmp_path, "none")])
