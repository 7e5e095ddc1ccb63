"""Keys and headers in nothing that a run stores or shows: one run for each way in."""

import json

import pytest
from support.projects import FAKE_PAGE, solve_menu, suite_source

HEADER, QUERY, PASSWORD, ADDRESS = "hdr-blue-whale", "qry-red-fox", "pwd-old-owl", "adr-big-bear"
PARAMS = {
    "temperature": 0,
    "extra_headers": {"X-Team": HEADER, "Authorization": f"Token {HEADER}-2"},
    "extra_query": {"team": QUERY},
}
SENT_ONLY = (HEADER, QUERY, PASSWORD, ADDRESS, "X-Team")
KEPT_PARAMS = {"temperature": 0}

KEY = "gsk_" + "aB3z" * 13


@pytest.fixture
def one_item(project):
    """A project with one item; `run_item` takes a URL and arguments."""
    project.makepyfile(suite_source('"click-menu-2", seeds=[1]'))

    def run_item(url, *args, record="new_episodes"):
        server = [f"--miniwob-base-url={url}"] if url else []
        return project.runpytest(f"--miniwob-record={record}", *server, *args)

    project.run_item = run_item
    return project


def stored_in(project):
    """All that is in a project's files, but for what the test wrote itself."""
    texts = [
        path.read_bytes().decode("utf-8", "replace")
        for path in project.path.rglob("*")
        if path.is_file() and path.suffix not in (".py", ".pyc", ".ini")
    ]
    return "\n".join(texts)


@pytest.fixture
def address(chat_server):
    return chat_server.url.replace("//", f"//me:{PASSWORD}@") + f"?api_key={ADDRESS}"


def test_what_is_sent_only_is_neither_stored_nor_shown(one_item, chat_server, address):
    chat_server.reply = lambda prompt: "click id=3" if ">Save<" in prompt else solve_menu(prompt)
    params = f"--miniwob-llm-params={json.dumps(PARAMS)}"
    output = ("--miniwob-results=base.jsonl", "--miniwob-report=report", "--junitxml=junit.xml")
    args = (params, "-rA", "--log-level=DEBUG", "--miniwob-trials=1", *output)
    recorded = one_item.run_item(address, *args)
    recorded.assert_outcomes(failed=1)
    assert chat_server.headers[0]["x-team"] == HEADER
    assert set(chat_server.paths) == {f"/v1/chat/completions?api_key={ADDRESS}&team={QUERY}"}
    [_, line] = (one_item.path / "base.jsonl").read_text().splitlines()
    assert json.loads(line)["params"] == KEPT_PARAMS

    replayed = one_item.run_item(None, *args, record="none")
    replayed.assert_outcomes(failed=1)
    replayed.stdout.fnmatch_lines(
        ["*miniwob-agent show *'--miniwob-llm-params={*temperature*: 0}'*"]
    )

    everything = stored_in(one_item) + "".join(
        str(result.stdout) + str(result.stderr) for result in (recorded, replayed)
    )
    assert "click id=3" in everything
    for text in SENT_ONLY:
        assert text not in everything, text


@pytest.mark.parametrize(
    ("option", "shown"),
    [
        ("--miniwob-base-url=http://tok3n@h:9/v1?k=q7zz", "http://[*][*][*]@h:9/v1?[*][*][*]"),
        ("-ominiwob_base_url=http://tok3n@h:9/v1?k=q7zz", "http://[*][*][*]@h:9/v1?[*][*][*]"),
        ("--miniwob-remote=http://tok3n@h:9", "http://[*][*][*]@h:9"),
    ],
)
def test_a_suggested_command_has_no_part_of_an_address_that_may_be_secret(one_item, option, shown):
    result = one_item.run_item(None, option, "--miniwob-report=report", record="none")
    result.stdout.fnmatch_lines([f"*pytest *={shown}*"])
    everything = stored_in(one_item) + str(result.stdout) + str(result.stderr)
    assert "tok3n" not in everything
    assert "q7zz" not in everything


def test_what_a_plugin_names_as_a_secret_is_not_shown(one_item):
    one_item.makeconftest(
        FAKE_PAGE
        + """
    def pytest_miniwob_secrets(config):
        return ["pwd-grey-goose"]

    @pytest.fixture
    def miniwob_llm():
        raise ValueError("pwd-grey-goose is refused")
"""
    )
    output = ("-rA", "--miniwob-results=base.jsonl", "--junitxml=junit.xml")
    result = one_item.run_item(None, *output, record="none")
    result.assert_outcomes(errors=1)
    everything = stored_in(one_item) + str(result.stdout)
    assert "[not shown] is refused" in everything
    assert "pwd-grey-goose" not in everything


KEY_PAGE = FAKE_PAGE.replace('f"Open the menu', f'f"Key:\\n{KEY}\\nOpen the menu').replace(
    '"Save"', f'"Save\\t{KEY}"'
)
"""A page with a key in its goal, at the start of a line, and in the text of a link."""


@pytest.mark.parametrize("record", ["new_episodes", "defer"])
def test_a_page_with_a_key_is_not_sent_to_a_model(one_item, chat_server, record):
    one_item.makeconftest(KEY_PAGE)
    result = one_item.run_item(chat_server.url, "--miniwob-report=report", record=record)
    result.assert_outcomes(errors=1)
    result.stdout.fnmatch_lines(
        ["the call was not made (plan, trial 1, step 0): its request holds *secret*"]
    )
    assert chat_server.requests == []
    assert KEY not in stored_in(one_item) + str(result.stdout)


def test_a_page_with_a_key_is_shown_without_it(one_item):
    one_item.makeconftest(
        KEY_PAGE
        + """
    from pytest_miniwob_agent.testing import ScriptedLLM

    @pytest.fixture
    def miniwob_llm():
        return ScriptedLLM(
            lambda purpose, prompt: "click id=3" if ">Save" in prompt else "click id=1"
        )
"""
    )
    one_item.makepyfile(
        """
        import pytest

        @pytest.mark.miniwob("click-menu-2", seeds=[1])
        def test_solves(miniwob_episode, miniwob_page):
            goal = miniwob_page.reset().goal
            print(goal)
            assert [goal] == [miniwob_episode.events[0].observation.goal]
        """
    )
    result = one_item.run_item(
        None, "--miniwob-results=base.jsonl", "--miniwob-report=report", "--junitxml=junit.xml",
        "--miniwob-trials=1", "--showlocals", record="none",
    )  # fmt: skip
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(
        ["goal *= 'Key:?n[[]key of a model server[]]*", "*stdout*", "[[]key of a model server[]]"]
    )
    everything = stored_in(one_item)
    assert KEY not in everything + str(result.stdout)
    page = (one_item.path / "report/data/items/n-screen-n-step/click-menu-2/1.js").read_text()
    assert "Save\\t[key of a model server]" in page


def test_a_key_in_a_warning_or_a_reason_is_not_shown(one_item):
    one_item.makeconftest(FAKE_PAGE)
    one_item.makepyfile(
        """
        import warnings
        import pytest

        KEY = "gsk_" + "aB3z" * 13

        @pytest.mark.miniwob("click-menu-2", seeds=[1])
        def test_solves(miniwob_page):
            warnings.warn(f"the key is {KEY}")
            pytest.xfail(f"the key is {KEY}")
        """
    )
    output = ("-rA", "-Wdefault", "--junitxml=junit.xml")
    result = one_item.run_item(None, *output, record="none")
    result.assert_outcomes(xfailed=1, warnings=1)
    assert str(result.stdout).count("the key is [key of a model server]") == 2
    assert KEY not in str(result.stdout) + stored_in(one_item)
