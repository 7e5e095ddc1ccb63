"""A live app with the recorded answers of the model: `--miniwob-app=live`."""

import json
import re

import pytest
from support.apps import APP, count_starts, plan
from support.projects import Project

LIVE = "--miniwob-app=live"

ORDERS = """
    import secrets
    import time
    from urllib.parse import parse_qs

    ORDERS = []
    BROKEN = {}

    class Handler(AppHandler):
        def page(self):
            rows = [*ORDERS][::BROKEN.get("order", 1)]
            rows = "".join(f"<li>{row}</li>" for row in rows)
            button = BROKEN.get("button", "Order")
            self.answer(f'''<!DOCTYPE html><title>Shop</title><ul>{rows}</ul>
                <form method=post><label>What <input name=what></label><button>{button}</button>
                <input type=hidden name=csrf value={secrets.token_hex(32)}></form>
                {BROKEN.get("script", "")}''')

        def do_GET(self):
            time.sleep(BROKEN.get("slow", 0))
            if self.path == "/":
                self.page()
            else:
                self.answer("{}", "application/json")

        def do_POST(self):
            sent = self.rfile.read(int(self.headers["Content-Length"])).decode()
            if not BROKEN.get("handler"):
                ORDERS.append(parse_qs(sent)["what"][0])
            self.answer("<!DOCTYPE html><p>" + BROKEN.get("thanks", "Thank you"))
"""

TEST = """
    import pytest
    from conftest import BROKEN, ORDERS
    from pytest_miniwob_agent import AppTask

    def prepare(app, seed):
        ORDERS[:] = ["tea", "rice"]

    BROKEN.update({})
    BUY = AppTask(
        "buy", app="app", goal="Order milk.", setup=prepare,
        reward=lambda app, trial: "milk" in ORDERS,
    )
    SEEN = AppTask(
        "see", app="app", goal="Order milk, and be thanked.", setup=prepare,
        solved_when=lambda trial: "Thank you" in str(trial.observation.elements) or None,
    )

    @pytest.mark.miniwob(BUY, SEEN, seeds=[1], trials=2)
    def test_shop(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""


def reply(prompt):
    return plan('enter "milk" to id=4', "click id=5")


@pytest.fixture
def shop(pytester, chat_server, recordings):
    """A project with two items on an app, which are recorded."""
    project = Project(pytester, chat_server)
    project.write(TEST, APP + ORDERS)
    project.use_recordings(recordings / "shop", reply)
    project.path.joinpath("starts").unlink(missing_ok=True)
    return project


def change(project, **how):
    """Change the app."""
    source = project.test_file.read_text()
    source = re.sub(r"BROKEN\.update\(.*\)", f"BROKEN.update({how})", source)
    project.test_file.write_text(source)


def test_an_app_that_has_not_changed_passes(shop):
    result = shop.replay(LIVE, "--miniwob-results=now.jsonl", "-n1", passed=2)
    assert count_starts(shop) == 2
    result.stdout.fnmatch_lines(["apps: 2 items on the app as it is now, with recorded answers"])
    # A token of a form is another one each time.
    result.stdout.no_fnmatch_line("*requests to the app have changed*")
    assert shop.path.joinpath("now.jsonl").read_text().count('"app":"live"') == 2
    result = shop.replay(passed=2)
    result.stdout.fnmatch_lines(["apps: 2 items replayed; the app was not started, *"])
    assert count_starts(shop) == 2


def test_an_app_that_is_slower_passes(shop):
    change(shop, slow=0.5)
    shop.replay(LIVE, "-k", "buy", passed=1)


def test_an_app_that_does_not_do_what_it_shows_fails(shop):
    """The agent is not asked on, in this trial or in the next one."""
    change(shop, handler=True, thanks="Sorry")  # for the judge that asks it, and by the page
    result = shop.replay(LIVE, "--miniwob-report=report", failed=2)
    used_up = "trial 1: INCOMPLETE, the recorded answers are used up*"
    result.stdout.fnmatch_lines(["*apps/buy/1*", used_up, "*apps/see/1*", used_up])
    result.stdout.no_fnmatch_line("*trial 2*")


def test_an_app_that_shows_something_else_is_drift(shop):
    change(shop, button="Buy")
    before = shop.recorded()
    result = shop.runpytest(LIVE, "--miniwob-report=report")
    last = "The last request before it: GET /"
    result.stdout.fnmatch_lines(['+ button "Buy" id=5', "*", last])
    result.stdout.fnmatch_lines(
        ['- button "Order" id=5', "*", last, "*", "*AppTask(clock=...)", "*2 drifted*"]
    )
    result.stdout.no_fnmatch_line("*left over*")
    assert shop.recorded() == before
    # The report has both pages.
    [item] = shop.path.glob("report/data/items/apps/buy/*.js")
    [shown] = re.findall(r'"changed":\[({.*?})\]', item.read_text())
    assert "the page before action 0 of trial 1" in shown
    names = re.findall(r'"(?:recorded|present)":"(\w+\.png)"', shown)
    pictures = {shop.path.joinpath("report", "pictures", name).read_bytes() for name in names}
    assert len(pictures) == 2


def test_requests_that_change_while_the_prompts_stay_are_a_remark(shop):
    change(shop, script="<script>fetch('/visited')</script>")
    result = shop.replay(LIVE, passed=2)
    result.stdout.fnmatch_lines(
        ["apps/buy/1: its requests to the app have changed: + GET /visited at step 0"]
    )


def test_an_item_that_drifts_is_recorded_again_and_the_others_stay(shop):
    change(shop, thanks="Thank you very much")
    before = shop.recorded()
    shop.record(LIVE).assert_outcomes(passed=2)
    assert (shop.recorded(), shop.server.requests) == (before, [])
    change(shop, button="Buy")
    shop.record(LIVE, "-k", "buy").assert_outcomes(passed=1)
    assert len(shop.server.requests) == 1
    shop.replay("-k", "buy", passed=1)


def test_results_of_recordings_are_not_replaced(shop):
    results = "--miniwob-results=results.jsonl"
    shop.replay(results, passed=2)
    recorded = shop.path.joinpath("results.jsonl").read_bytes()
    change(shop, handler=True)
    baseline = "--miniwob-baseline=results.jsonl"
    result = shop.replay(LIVE, results, baseline, passed=1, failed=1)
    result.stdout.fnmatch_lines(["gate items: FAILED", "results: results.live.jsonl", "REGRESSED*"])
    assert shop.path.joinpath("results.jsonl").read_bytes() == recorded
    assert count_starts(shop) == 2


def test_an_item_without_a_recording_is_not_recorded_either(shop):
    result = shop.runpytest(LIVE, "--miniwob-model=other")
    result.stdout.fnmatch_lines(["2 items have no cassette:"])


def test_a_changed_goal_is_told_as_such(shop):
    source = shop.test_file.read_text()
    shop.test_file.write_text(source.replace("Order milk.", "Order some milk."))
    for mode in ((), (LIVE,)):
        result = shop.runpytest(*mode, "-k", "buy")
        result.stdout.fnmatch_lines(
            ["*1  the goal changed", "*- Order milk.", "*+ Order some milk."]
        )


def test_a_judge_that_has_changed_is_drift_until_it_has_judged_the_app(shop):
    said = ["*1  the judge of the app changed", "*reward of AppTask 'buy' is not what it was*"]
    [tape] = shop.path.glob("cassettes/*/*/buy/1.traffic.jsonl")
    head, *others = tape.read_text().splitlines()
    source = shop.test_file.read_text()
    shop.test_file.write_text(source.replace('"milk" in ORDERS', "1 / 0"))
    result = shop.runpytest()
    result.stdout.fnmatch_lines([*said, "*1 passed, 1 drifted*"])
    buy = ("-k", "buy")
    shop.runpytest(LIVE, *buy).stdout.fnmatch_lines(["*ZeroDivisionError*"])
    assert tape.read_text().splitlines() == [head, *others]

    shop.test_file.write_text(source.replace('"milk" in ORDERS', 'ORDERS[-1] == "milk"'))
    shop.runpytest(*buy).stdout.fnmatch_lines(said)
    shop.record(LIVE, *buy).assert_outcomes(passed=1)
    assert shop.server.requests == []
    now, *rest = tape.read_text().splitlines()
    assert (now != head, rest) == (True, others)
    shop.replay(*buy, passed=1)


@pytest.mark.sweep
def test_a_setup_is_taken_over_only_with_a_solved_item(shop):
    source = shop.test_file.read_text().replace('["tea", "rice"]', '[*("tea", "rice")]')
    shop.test_file.write_text(source)
    shop.runpytest("-k", "see").stdout.fnmatch_lines(
        ["*setup of AppTask 'see' is not what it was*"]
    )
    change(shop, thanks="Sorry")
    before = shop.recorded()
    shop.record(LIVE, "-k", "see").assert_outcomes(failed=1)
    assert (shop.recorded(), shop.server.requests) == (before, [])
    change(shop)
    shop.record(LIVE, "-k", "see").assert_outcomes(passed=1)
    shop.replay("-k", "see", passed=1)


@pytest.mark.sweep
def test_a_recording_that_does_not_know_its_judge_is_told_so_once(shop):
    for tape in shop.path.glob("cassettes/*/*/*/1.traffic.jsonl"):
        head, *others = tape.read_text().splitlines(keepends=True)
        head = json.dumps({"schema": 1, "origins": json.loads(head)["origins"]})
        tape.write_text("".join([f"{head}\n", *others]))
    said = "there are recordings on apps that don't know their judge*"
    shop.replay(passed=2).stdout.fnmatch_lines([said])
    shop.record(LIVE).assert_outcomes(passed=2)
    shop.replay(passed=2).stdout.no_fnmatch_line(said)
