"""Options of the command line and the ini file: parsing, defaults, and what goes together."""

from pathlib import Path
from types import SimpleNamespace

import pytest

from pytest_miniwob_agent import UsageError
from pytest_miniwob_agent.models.budget import Price
from pytest_miniwob_agent.plugin.reading import all_options, read_settings

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
    assert settings.find_price(None) is None
    assert settings.headed is False
    assert (settings.model, settings.seeds, settings.results, settings.max_calls) == (None,) * 4
    assert settings.pending == ROOT / ".miniwob/pending.jsonl"


def test_the_command_line_overrides_the_ini_file():
    assert read({"model": "a"}, model="b").model == "a"
    assert read(model="b").model == "b"
    assert read({"headed": True}).headed
    assert read(headed=True).headed
    settings = read({"seeds": "1-3,7", "trials": "2"}, trials="4", steps="9")  # a marker is between
    assert (settings.seeds, settings.trials, settings.steps) == ([1, 2, 3, 7], 2, None)
    assert settings.ini == {"seeds": None, "trials": 4, "steps": 9, "repeats": None, "pages": None}


@pytest.mark.parametrize(
    "name", ["model", "base_url", "browser", "prompts", "results", "baseline", "shard"]
)
def test_an_empty_value_on_the_command_line_switches_an_option_off(name):
    assert getattr(read({name: ""}, **{name: "1/2"}), name) is None
    assert read({"cassettes": ""}, cassettes="x").cassettes == ROOT / "cassettes"


def test_paths_start_from_where_they_are_written():
    assert read({"results": "out"}).results == BELOW / "out"
    assert read(results="out").results == ROOT / "out"
    assert read({"results": "/out"}).results == Path("/out")
    assert read({"pages": "a, b"}, pages=["c", "d"]).pages == [BELOW / "a", BELOW / "b"]
    assert read({"browser": "bin/chrome"}).browser == BELOW / "bin/chrome"
    assert read(browser="bin/chrome").browser == ROOT / "bin/chrome"
    assert read(browser="chrome").browser == "chrome"
    assert read(pages=["c", "d"]).ini["pages"] == [ROOT / "c", ROOT / "d"]


def test_a_baseline_is_a_file_or_a_commit():
    assert read({"baseline": "base.jsonl"}).baseline == BELOW / "base.jsonl"
    settings = read({"baseline": "git:main"}, baseline="base.jsonl")
    assert settings.baseline == "git:main"
    assert settings.baseline_file == ROOT / "base.jsonl"
    assert read({"baseline": "git:main", "results": "new"}).baseline_file == BELOW / "new"
    assert read(baseline="git:main").baseline == "git:main"
    assert read(baseline="git:main:b.jsonl").baseline == f"git:main:{ROOT}/b.jsonl"
    assert read({"baseline": "git:main:b.jsonl"}).baseline == "git:main:b.jsonl"


def test_prices_are_found_by_model():
    assert read({"model": "m"}, prices=["m 1 2", "n 3 4"]).find_price("m") == Price(1, 2)
    assert read({"model": "m", "prices": "n 1 2"}, prices=["m 1 2"]).find_price("m") is None


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [
        ("record", "al", "'al' is not one of none, new_episodes, all, defer (did you mean"),
        ("seeds", "1000-", "seeds '1000-': '1000-' is not a number or range"),
        ("prices", "m 1", "'m 1' is not a price"),
        ("trials", "none", "'none' must be a positive integer"),
        ("max-calls", "", "'' must be a positive integer"),
        ("concurrency", "-1", "'-1' must be a positive integer"),
        ("llm-params", '{"secret": "sk-secret"', "this is not JSON: Expecting ',' delimiter"),
        ("llm-params", "[]", "this is not a JSON object"),
        ("llm-params", '{"temperature": NaN}', "this is not JSON: it has no number NaN"),
        ("agent-params", "3", "this is not a JSON object"),
        ("shard", "3/2", "'3/2' does not name a shard"),
        ("max-cost", "0", "'0' must be an amount"),
        ("max-cost", "", "'' must be an amount"),
        ("key-variable", "sk-secret", "give the name of an environment variable"),
        ("base-url", "host:80", "give the full URL of a server"),
    ],
)
def test_a_wrong_value_is_named_by_the_option(name, value, message):
    key = name.replace("-", "_")
    with pytest.raises(UsageError) as error:
        read({key: value})
    assert str(error.value).startswith(f"--miniwob-{name}: {message}")
    assert "sk-secret" not in str(error.value)
    if value:  # an empty line of the ini file is a default
        with pytest.raises(UsageError) as error:
            read(**{key: value})
        assert str(error.value).startswith(f"miniwob_{key}: {message}")


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ({"answers": "file"}, "--miniwob-answers goes with --miniwob-record=defer"),
        ({"llm_params": '{"stream": 1, "model": 2}'}, "--miniwob-llm-params: can't set model, st"),
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
    assert read({"shard": "2/5"}).shard == (2, 5)
    assert read({"group": 2, "splits": 5}).shard == (2, 5)
    assert read({"shard": "2/5", "group": 2, "splits": 5}).shard == (2, 5)


def test_every_option_has_an_ini_twin_and_help(pytester):
    text = pytester.runpytest("--help").stdout.str()
    for option in all_options():
        assert option.name in text
        assert f"{option.ini} (" in text
        assert not option.group or f"MiniWoB++: {option.group}:" in text
    assert "@pytest.mark.miniwob(*selectors" in pytester.runpytest("--markers").stdout.str()


def test_values_of_toml_are_read(project):
    (project.path / "tox.ini").unlink()
    (project.path / "pytest.toml").write_text(
        '[pytest]\nminiwob_model = "m"\nminiwob_trials = 3\nminiwob_seeds = "7,9-10"\n'
        "miniwob_prices = ['m 1 1', 'n 2 2']\nminiwob_llm_params = '{\"temperature\": 0}'\n"
    )
    settings = read_settings(project.parseconfig())
    assert (settings.ini["trials"], settings.ini["seeds"]) == (3, [7, 9, 10])
    assert settings.prices.keys() == {"m", "n"}
    assert settings.llm_params == {"temperature": 0}
    assert read_settings(project.parseconfig("-o", "miniwob_seeds=1")).ini["seeds"] == [1]


@pytest.mark.parametrize(
    ("values", "seeds", "message"),
    [
        ("seeds = 0", [0], None),
        ("pages = []", None, None),
        ("trials = 0", None, "miniwob_trials: '0' must be a positive integer"),
        ("max_calls = 0", None, "miniwob_max_calls: '0' must be a positive integer"),
        ("max_cost = 0.0", None, "miniwob_max_cost: '0.0' must be an amount of US dollars"),
        ("max_calls = false", None, "'miniwob_max_calls' expects one of"),
    ],
)
def test_no_value_of_toml_is_ignored(project, values, seeds, message):
    (project.path / "tox.ini").unlink()
    (project.path / "pytest.toml").write_text(f"[pytest]\nminiwob_{values}\n")
    if message is None:
        assert read_settings(project.parseconfig()).ini["seeds"] == seeds
        return
    result = project.runpytest("--collect-only")
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines([f"*{message}*"])
