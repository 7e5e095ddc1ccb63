"""Options of the command line and the ini file: parsing, defaults, and what goes together."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_miniwob_agent import UsageError
from pytest_miniwob_agent.plugin.options.declarations import OPTIONS
from pytest_miniwob_agent.plugin.options.settings import read_settings

ROOT = Path("/project")
BELOW = ROOT / "below"


class FakeConfig:
    """As much of pytest's configuration as settings are read from."""

    rootpath = ROOT
    inipath = ROOT / "pytest.ini"
    invocation_params = SimpleNamespace(dir=BELOW)

    def __init__(self, line, ini):
        others = ("splits", "group")  # options of pytest-split
        self._line = {
            name if name in others else f"miniwob_{name}": value for name, value in line.items()
        }
        self._ini = {f"miniwob_{name}": value for name, value in ini.items()}

    def getoption(self, name, default=None):
        return self._line.get(name, default)

    def getini(self, name):
        return self._ini.get(name)


def read(line=(), **ini):
    return read_settings(FakeConfig(dict(line), ini))


def test_settings_have_defaults():
    settings = read()
    assert settings.record == "none"
    assert settings.agent == "reflective"
    assert settings.llm_params == {}
    assert settings.cassettes == ROOT / "cassettes"
    assert settings.gate == "items"
    assert settings.prices == {}
    assert settings.headed is False
    assert (settings.model, settings.seeds, settings.results, settings.max_calls) == (None,) * 4
    assert settings.pending == ROOT / ".miniwob/pending.jsonl"


def test_the_command_line_overrides_the_ini_file():
    assert read({"model": "a"}, model="b").model == "a"
    assert read(model="b").model == "b"
    assert read({"headed": True}).headed
    assert read(headed=True).headed


def test_values_that_a_marker_may_override_are_kept_by_their_place():
    settings = read({"seeds": "1-3,7", "trials": "2"}, trials="4", steps="9")
    assert (settings.seeds, settings.trials, settings.steps) == ([1, 2, 3, 7], 2, None)
    assert settings.ini == {"seeds": None, "trials": 4, "steps": 9, "repeats": None, "pages": None}


def test_paths_are_relative_to_the_place_where_they_are_written():
    assert read({"report": "out"}).report == BELOW / "out"
    assert read(report="out").report == ROOT / "out"
    assert read({"report": "/out"}).report == Path("/out")


def test_a_baseline_is_a_file_or_a_commit():
    assert read({"baseline": "base.jsonl"}).baseline == BELOW / "base.jsonl"
    settings = read({"baseline": "git:main"}, baseline="base.jsonl")
    assert settings.baseline == "git:main"
    assert settings.baseline_file == ROOT / "base.jsonl"
    assert read({"baseline": "git:main", "results": "new"}).baseline_file == BELOW / "new"


@pytest.mark.parametrize("name", ["model", "base_url", "browser"])
def test_an_empty_name_is_none_even_if_the_ini_file_has_one(name):
    assert getattr(read({name: ""}, **{name: "x"}), name) is None


@pytest.mark.parametrize("name", ["cassettes", "prompts", "results", "baseline", "report"])
def test_an_empty_path_on_the_command_line_counts_as_not_given(name):
    assert getattr(read({name: ""}, **{name: "x"}), name) == ROOT / "x"
    assert getattr(read({name: ""}), name) == getattr(read(), name)


def test_prices_are_found_by_model():
    assert read({"model": "m"}, prices="m 1 2\nn 3 4").price == (1, 2)
    assert read({"model": "m", "prices": ""}, prices="m 1 2").price is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("trials", "none", "'none' must be a positive integer"),
        ("trials", "0", "'0' must be a positive integer"),
        ("max-calls", "", "'' must be a positive integer"),
        ("concurrency", "-1", "'-1' must be a positive integer"),
        ("llm-params", "{", "'{' is not JSON"),
        ("llm-params", "", "'' is not JSON"),
        ("llm-params", "[]", "'[]' is not a JSON object"),
        ("agent-params", "3", "'3' is not a JSON object"),
        ("shard", "3/2", "'3/2' does not name a shard"),
        ("shard", "0/2", "'0/2' does not name a shard"),
        ("shard", "2", "'2' does not name a shard"),
        ("max-cost", "free", "'free' must be an amount of US dollars above 0"),
        ("max-cost", "0", "'0' must be an amount"),
        ("max-cost", "inf", "'inf' must be an amount"),
        ("max-cost", "", "'' must be an amount"),
    ],
)
def test_a_wrong_value_is_named_by_the_option(name, value, message):
    key = name.replace("-", "_")
    with pytest.raises(UsageError) as error:
        read({key: value})
    assert str(error.value).startswith(f"--miniwob-{name}: {message}")
    if value:  # an empty line of the ini file is a default
        with pytest.raises(UsageError) as error:
            read(**{key: value})
        assert str(error.value).startswith(f"miniwob_{key}: {message}")


def test_a_choice_of_the_ini_file_must_be_one_of_those_there_are():
    with pytest.raises(UsageError, match=r"miniwob_record: 'nevr' is not one of none, once"):
        read(record="nevr")
    with pytest.raises(UsageError, match=r"\(did you mean once"):
        read(record="onc")


@pytest.mark.parametrize("seeds", ["1000-", "10-1", ""])
def test_wrong_seeds_are_quoted(seeds):
    with pytest.raises(UsageError, match=f"seeds '{seeds}'"):
        read({"seeds": seeds})


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"trace": "on"}, "--miniwob-trace goes with --miniwob-report"),
        ({"slowmo": "9"}, "--miniwob-slowmo goes with --miniwob-headed"),
        ({"answers": "file"}, "--miniwob-answers goes with --miniwob-record=defer"),
        ({"llm_params": '{"stream": 1, "model": 2}'}, "--miniwob-llm-params: can't set model, st"),
        ({"judge_shard": True}, "--miniwob-judge-shard goes with a shard: --splits"),
        (
            {"shard": "1/2", "group": 2, "splits": 2},
            "--miniwob-shard=1/2 and --splits=2 --group=2 name different shards",
        ),
        ({"max_cost": "1", "model": "m"}, "--miniwob-max-cost needs the price of m"),
    ],
)
def test_options_that_do_not_go_together_are_refused(line, message):
    with pytest.raises(UsageError, match=message):
        read(line)


def test_a_shard_is_that_of_the_option_or_of_pytest_split():
    assert read().shard is None
    assert read({"shard": ""}).shard is None
    assert read({"shard": "2/5"}).shard == (2, 5)
    assert read({"group": 2, "splits": 5}).shard == (2, 5)
    assert read({"shard": "2/5", "group": 2, "splits": 5}).shard == (2, 5)


def test_an_option_of_the_ini_file_that_is_not_used_is_no_error():
    assert read(slowmo="9").slowmo is None
    assert read({"headed": True}, slowmo="9").slowmo == 9
    assert read(trace="on").trace == "on"


def test_every_option_has_an_ini_twin_and_help(pytester):
    text = pytester.runpytest("--help").stdout.str()
    assert len(OPTIONS) == 34
    for option in OPTIONS:
        assert f"--miniwob-{option.name}" in text
        assert f"miniwob_{option.name.replace('-', '_')} (" in text
    assert "@pytest.mark.miniwob(*selectors" in pytester.runpytest("--markers").stdout.str()


ON_GRID = "--miniwob-remote=http://127.0.0.1:4444"


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (["--miniwob-record=never"], "*invalid choice: 'never'*"),
        (["--miniwob-trials=none"], "*--miniwob-trials: 'none' must be a positive integer*"),
        (["-o", "miniwob_trials=none"], "*miniwob_trials: 'none' must be a positive integer*"),
        (
            ["--miniwob-remote=grid:4444"],
            "*--miniwob-remote: give the whole address of a*",
        ),
        (["--miniwob-serve=10.0.0.5"], "*--miniwob-serve goes with --miniwob-remote, the address*"),
        (
            [ON_GRID, "--miniwob-serve=:9000"],
            "*--miniwob-serve: ':9000' must be HOST or HO*",
        ),
        ([ON_GRID, "--miniwob-browser=chrome"], "*--miniwob-browser names a browser of this mach*"),
        (
            [ON_GRID, '--miniwob-capabilities={"browserName": "firefox"}'],
            "*--miniwob-capabilities: can't set browserName: pages are certified for Chrome*",
        ),
        (
            [ON_GRID, '--miniwob-capabilities={"my:options": {"key": "lazy'],
            "*--miniwob-capabilities: '(not shown)' is not JSON: *",
        ),
    ],
)
def test_a_wrong_option_is_a_usage_error_of_pytest(project, args, message):
    result = project.runpytest(*args)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([message])


def test_typed_values_of_tool_pytest_are_read(project):
    (project.path / "tox.ini").unlink()
    (project.path / "pyproject.toml").write_text(
        '[tool.pytest]\nminiwob_trials = 3\nminiwob_seeds = 7\nminiwob_model = "m"\n'
        "miniwob_max_cost = 2.5\nminiwob_keep_going = true\n"
        'miniwob_prices = "m 1 1"\n'
    )
    settings = read_settings(project.parseconfigure())
    assert (settings.ini["trials"], settings.ini["seeds"]) == (3, [7])
    assert (settings.max_cost, settings.keep_going) == (2.5, True)


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("pytest.toml", "[pytest]"),
        ("pyproject.toml", "[tool.pytest]"),
        ("pyproject.toml", "[tool.pytest.ini_options]"),
    ],
)
def test_tables_and_lists_of_toml_are_read(project, name, head):
    (project.path / "tox.ini").unlink()
    (project.path / name).write_text(
        f"{head}\nminiwob_seeds = [7, '9-10']\nminiwob_prices = ['m 1 1', 'n 2 2']\n"
        "miniwob_llm_params = {temperature = 0, extra_body = {top_k = 40}}\n"
        "miniwob_agent_params = {planning = 'iterative'}\n"
        "miniwob_capabilities = {browserVersion = '156'}\n"
    )
    settings = read_settings(project.parseconfig())
    assert settings.ini["seeds"] == [7, 9, 10]
    assert settings.prices.keys() == {"m", "n"}
    assert settings.llm_params == {"temperature": 0, "extra_body": {"top_k": 40}}
    assert settings.agent_params == {"planning": "iterative"}
    assert settings.capabilities == {"browserVersion": "156"}
    config = project.parseconfig("-o", "miniwob_llm_params={}", "-o", "miniwob_seeds=1")
    settings = read_settings(config)
    assert (settings.llm_params, settings.ini["seeds"]) == ({}, [1])


def test_a_table_in_place_of_a_value_is_refused_without_its_content(project):
    (project.path / "tox.ini").unlink()
    for value, kind in (("{name = 'secret'}", "table"), ("['secret']", "list")):
        (project.path / "pytest.toml").write_text(f"[pytest]\nminiwob_model = {value}\n")
        with pytest.raises(UsageError) as error:
            read_settings(project.parseconfig())
        assert str(error.value) == f"miniwob_model: can't be a {kind} of TOML; write one value"
