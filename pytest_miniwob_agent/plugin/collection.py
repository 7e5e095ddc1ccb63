"""Collection: one pytest item for each case, agent and model that a test's markers select."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_miniwob_agent.agents.registry import DEFAULT
from pytest_miniwob_agent.builtin import ARGUMENTS, joined, why_blocked
from pytest_miniwob_agent.cassettes.folder import model_folder
from pytest_miniwob_agent.core.app import AppTask
from pytest_miniwob_agent.core.case import Case, Limits
from pytest_miniwob_agent.core.errors import UsageError
from pytest_miniwob_agent.core.files import display_path
from pytest_miniwob_agent.core.text import nearest
from pytest_miniwob_agent.models.budget import check_price
from pytest_miniwob_agent.plugin.options import parse_count
from pytest_miniwob_agent.plugin.reading import get_test_id, project_folder
from pytest_miniwob_agent.plugin.settings import BY_MARKER, SEEDS, Settings
from pytest_miniwob_agent.plugin.state import STATE, Setup
from pytest_miniwob_agent.tasks.catalogue import PROBLEM_LISTS, Catalogue, ProblemList, TaskPage
from pytest_miniwob_agent.tasks.perturbations import Perturbation
from pytest_miniwob_agent.tasks.selectors import listed_cases, parse_seeds, select_cases

MARKER = (
    "miniwob(*selectors, seeds=..., problems=..., trials=..., steps=..., repeats=..., reward=..., "
    "pages=..., perturb=..., agents=..., models=...): run the test on every selected MiniWoB++ "
    "task (names, categories, suites, globs or AppTasks) at every seed, with each perturbation, "
    "agent and model; the test asks for the fixture miniwob_episode"
)

KNOWN = (*BY_MARKER, "problems", "reward", "perturb", "agents", "models")
"""The arguments of the marker, besides its selectors."""


REWARDS = ("full", "any", "graders")
"""The values of the marker's `reward`: what counts as the full one, or who judges instead."""


REFUSED = pytest.StashKey[str]()
"""Key in the stash of an item that is an error, of the reason."""


class Problem(NamedTuple):
    """The parameter of an item: its case, its limits, the page of its task, agent and model.

    `arguments` are those of its marker that belong to plugins.
    """

    case: Case
    limits: Limits
    page: TaskPage
    setup: Setup
    arguments: Mapping[str, Any]


def get_problem(item: Any) -> Problem | None:
    """Return the problem of a pytest item, None if the item is not one of this plugin."""
    callspec = getattr(item, "callspec", None)
    found = callspec.params.get("miniwob_case") if callspec else None
    return found if isinstance(found, Problem) else None


def why_no_problem(item: pytest.Item) -> str:
    """Return why an item that has a miniwob marker, or asks for a fixture of ours, has no case."""
    if item.get_closest_marker("miniwob") is None:
        return (
            f"{item.nodeid} asks for a miniwob fixture but selects no tasks: mark it, for instance "
            '@pytest.mark.miniwob("n-screen-n-step")'
        )
    return (
        f"{item.nodeid} has a miniwob marker but no miniwob fixture: give it the parameter "
        "miniwob_episode (a method of a unittest.TestCase can't have one), or mark it with "
        '@pytest.mark.usefixtures("miniwob_case") if something else asks for the episode, such '
        "as request.getfixturevalue or a step of pytest-bdd"
    )


def get_cases(items: Iterable[pytest.Item]) -> set[Case]:
    """Return the cases of pytest items."""
    return {problem.case for problem in map(get_problem, items) if problem is not None}


def check_marked(items: Iterable[pytest.Item], config: pytest.Config) -> None:
    """Check that each marked test was parametrized, and that no two items have the same case.

    Items that a fixture of somebody else makes of one case are refused when they run.
    A marker of a module or class is for those of its tests that ask for a fixture.
    """
    known: dict[Case, Any] = {}
    settings = config.stash[STATE].settings
    judged = bool(settings.results or settings.baseline)
    for item in items:
        marked = any(marker.name == "miniwob" for marker in item.own_markers)
        problem = get_problem(item)
        # An item of no cases has the fixture: pytest skips it.
        if marked and "miniwob_case" not in getattr(item, "fixturenames", ()):
            raise pytest.UsageError(why_no_problem(item))
        if problem is not None:
            other = known.setdefault(problem.case, item)
            difference, fixture = _difference(item, other, judged=judged)
            if fixture:
                other.stash[REFUSED] = item.stash[REFUSED] = (
                    f"the fixture {fixture} runs the test several times for the same case, which "
                    "can't be told apart in cassettes and results: choose one of its parameters, "
                    f"for instance @pytest.mark.parametrize({fixture!r}, "
                    f"[{other.callspec.params[fixture]!r}], indirect=True)"
                )
            elif difference:
                raise pytest.UsageError(
                    f"{other.nodeid}\nand {item.nodeid}\nare the same case with {difference}, and "
                    "can't be told apart in cassettes and results: name agents and models in the "
                    'marker (@pytest.mark.miniwob(..., agents=[...], models=["gpt-5", ...]))'
                )


def _difference(item: Any, other: Any, *, judged: bool) -> tuple[str, str]:
    """Name what differs between two items of a case: parameters or, in results, the agent.

    And name a fixture that decides nothing here and has the parameters, such as `anyio_backend`.
    """
    fixtures, others = (one._fixtureinfo.name2fixturedefs for one in (item, other))
    deciding = [name for name in ("miniwob_agent", "miniwob_llm") if name in fixtures]
    for name in deciding if judged else ():
        if name in others and fixtures[name][-1].func != others[name][-1].func:
            return f"another fixture {name}", ""
    params = item.callspec.params
    if item.originalname != other.originalname or params == other.callspec.params:
        return "", ""
    # Those of plugins that repeat a test begin with an underscore.
    told_apart = ("miniwob_case", *([] if judged else deciding))
    names = [name for name in params if name not in told_apart and not name.startswith("_")]
    changed = [name for name in names if params[name] != other.callspec.params.get(name)]
    by_fixture = [name for name in changed if name not in deciding and fixtures[name][-1].params]
    return f"another {' and '.join(changed)}" if changed else "", (*by_fixture, "")[0]


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Make one item for each case that the test's `miniwob` markers select."""
    if "miniwob_case" not in metafunc.fixturenames:
        return
    test = metafunc.definition.nodeid
    markers = list(metafunc.definition.iter_markers("miniwob"))
    if not markers:
        raise pytest.Collector.CollectError(why_no_problem(metafunc.definition))
    state = metafunc.config.stash[STATE]
    settings = state.settings
    problems = {}
    try:
        # The closest marker comes last: its limits count for a case that others select, too.
        for marker in reversed(markers):
            catalogue = Catalogue(_page_folders(marker, settings, metafunc.definition.path))
            marker = _with_apps(marker, catalogue, metafunc.definition.path)
            marker = _perturbed(marker, catalogue)
            marker, arguments = _plugins_arguments(marker, metafunc.config)
            cases = list(selected_cases(marker, settings, catalogue, metafunc.definition.path))
            setups = parse_setups(marker, metafunc.config, settings)
            state.setups |= setups
            if "" in setups and (settings.agent not in DEFAULT or settings.agent_params):
                assert state.agent  # an error before a browser is started for it
            for (case, limits), (folder, setup) in product(cases, setups.items()):
                page = catalogue.pages[case.task]
                known = state.pages.setdefault(page.task, page)
                if _identity(known) != _identity(page):
                    raise UsageError(
                        f"{display_path(page.file)} is called {page.task!r}, as "
                        f"{display_path(known.file)} of another test is, and they would share "
                        "their cassettes: rename one of them"
                    )
                of_setup = replace(case, setup=folder)
                limits = _limits_on(page, limits)
                problems[of_setup.id] = Problem(of_setup, limits, page, setup, arguments)
    except UsageError as error:
        raise pytest.Collector.CollectError(f"{test}: {error}") from None
    test = get_test_id(metafunc.definition)
    state.selection.offered[test] = [problem.case for problem in problems.values()]
    metafunc.parametrize("miniwob_case", list(problems.values()), ids=list(problems), indirect=True)


def _plugins_arguments(
    marker: pytest.Mark, config: pytest.Config
) -> tuple[pytest.Mark, dict[str, Any]]:
    """Take the arguments of plugins out of a marker, as their plugins read them."""
    kwargs = dict(marker.kwargs)
    found: dict[str, Any] = {}
    for readers in joined(config.hook.pytest_miniwob_marker_arguments()):
        for name in readers.keys() & kwargs.keys():
            try:
                found[name] = readers[name](kwargs.pop(name))
            except (TypeError, ValueError) as error:
                raise UsageError(f"the miniwob marker's {name} is not valid: {error}") from None
    return pytest.Mark(marker.name, marker.args, kwargs, _ispytest=True), found


def _with_apps(marker: pytest.Mark, catalogue: Catalogue, test: Path) -> pytest.Mark:
    """Add a marker's tasks on apps to a catalogue; the marker with their names."""
    names = []
    for one in marker.args:
        if isinstance(one, AppTask):
            catalogue.add(TaskPage(one.name, one.category, test, app=one))
        names.append(one.name if isinstance(one, AppTask) else one)
    return pytest.Mark(marker.name, tuple(names), marker.kwargs, _ispytest=True)


def _perturbed(marker: pytest.Mark, catalogue: Catalogue) -> pytest.Mark:
    """Return a marker whose selectors name the perturbations of its argument `perturb`."""
    given = marker.kwargs.get("perturb", ["clean"])
    kinds: list[str] = []
    for kind in given if isinstance(given, list | tuple) else [given]:
        if isinstance(kind, Perturbation):
            known = catalogue.perturbations.setdefault(kind.name, kind)
            if known != kind:
                raise UsageError(f"two perturbations are called {kind.name!r}: rename one of them")
        elif not (kind and isinstance(kind, str)):
            raise UsageError(
                "the miniwob marker's perturb must be names and Perturbations, such as "
                f'["clean", "overlay"], not {given!r}'
            )
        name = kind.name if isinstance(kind, Perturbation) else kind
        kinds += ["clean", "*"] if name == "all" else [name]
    if "perturb" in marker.kwargs and {"problems", *PROBLEM_LISTS} & {*marker.args, *marker.kwargs}:
        raise UsageError("the tasks of a list of problems can't be perturbed: name them instead")
    if "perturb" in marker.kwargs and "perturbed" in marker.args:
        raise UsageError('the suite perturbed has all perturbations: name "apps" to choose some')
    names = [
        name if kind == "clean" else f"{name}~{kind}" for name in marker.args for kind in kinds
    ]
    return pytest.Mark(marker.name, tuple(names), marker.kwargs, _ispytest=True)


def _identity(page: TaskPage) -> tuple[object, ...]:
    return page.app, page.app or page.file, page.perturbation


def _page_folders(marker: pytest.Mark, settings: Settings, test: Path) -> list[Path]:
    given = marker.kwargs.get("pages")
    if settings.pages or given is None:
        return settings.pages or settings.ini["pages"] or []
    folders = list(given) if isinstance(given, list | tuple) else [given]
    for folder in folders:
        if not isinstance(folder, str | Path) or not str(folder):
            raise UsageError(
                f"the miniwob marker's pages must be a folder or a list of them: {folder!r}"
            )
    return [test.parent / folder for folder in folders]


def selected_cases(
    marker: pytest.Mark,
    settings: Settings,
    catalogue: Catalogue | None = None,
    test: Path = Path("test"),
) -> Iterator[tuple[Case, Limits]]:
    """Yield the cases of a marker of a test file, of the tasks of a catalogue or of the package.

    The marker's arguments override the ini file, options override both.

    Raises:
        UsageError: an argument is not valid.
    """
    for name in marker.kwargs:
        if name in ARGUMENTS:
            raise UsageError(f"the miniwob marker's {name}: {why_blocked(ARGUMENTS[name])}")
        if name not in KNOWN:
            known = (*KNOWN, *ARGUMENTS)
            raise UsageError(
                f"the miniwob marker knows no {name}{nearest(name, known)}; it takes selectors and "
                f"{', '.join(known)}"
            )
    for selector in marker.args:
        if not isinstance(selector, str):
            raise UsageError(
                f"the miniwob marker's selector {selector!r} is neither a string nor an AppTask"
            )
    lists = [PROBLEM_LISTS[name] for name in marker.args if name in PROBLEM_LISTS]
    plain = [selector for selector in marker.args if selector not in PROBLEM_LISTS]
    if "seeds" in marker.kwargs and ("problems" in marker.kwargs or (lists and not plain)):
        raise UsageError("a list of problems has seeds of its own: leave the marker's seeds out")
    if (file := marker.kwargs.get("problems")) is not None:
        own = ProblemList(test.parent / str(file), {})
        limits, repeats = _limits(marker, settings, own.limits)
        for case in listed_cases(own, settings.seeds, repeats, catalogue, plain):
            yield case, limits
    elif not marker.args:
        raise UsageError(
            "the miniwob marker selects nothing: name tasks, categories, suites or globs"
        )
    elif plain:
        limits, repeats = _limits(marker, settings, {})
        for case in select_cases(plain, _seeds(marker, settings), repeats, catalogue):
            yield case, limits
    for problems in lists:
        limits, repeats = _limits(marker, settings, problems.limits)
        for case in listed_cases(problems, settings.seeds, repeats, catalogue):
            yield case, limits


def _seeds(marker: pytest.Mark, settings: Settings) -> list[int]:
    seeds = marker.kwargs.get("seeds")
    if isinstance(seeds, str):
        seeds = parse_seeds(seeds) if seeds else None
    elif seeds is not None:
        seeds = list(seeds) if isinstance(seeds, Iterable) else [seeds]
        if not seeds or not all(type(seed) is int and seed >= 0 for seed in seeds):
            raise UsageError(f"the miniwob marker's seeds must be integers from 0 up: {seeds!r}")
    return settings.seeds or seeds or settings.ini["seeds"] or parse_seeds(SEEDS)


def _limits(
    marker: pytest.Mark, settings: Settings, of_list: Mapping[str, Any]
) -> tuple[Limits, int]:
    counts = {}
    for name in ("trials", "steps", "repeats"):
        given = marker.kwargs.get(name, of_list.get(name, settings.ini[name]))
        value = getattr(settings, name) or given
        if value is not None:
            try:
                counts[name] = parse_count(value)
            except UsageError as error:
                raise UsageError(f"the miniwob marker's {name}: {error}") from None
    reward = marker.kwargs.get("reward", of_list.get("reward", "full"))
    if reward not in REWARDS:
        raise UsageError(
            f"the miniwob marker's reward must be one of {', '.join(REWARDS)}, not {reward!r}"
        )
    repeats = counts.pop("repeats", 1)
    return Limits(**counts, any_reward=reward == "any", graded=reward == "graders"), repeats


def _limits_on(page: TaskPage, limits: Limits) -> Limits:
    """Return the limits of an item, whose page may have no judge but graders."""
    app = page.app
    if limits.graded and page.root is None and app is None:
        raise UsageError(
            f'reward="graders" is for pages of your own, which may not judge: {page.task} does'
        )
    graded = limits.graded or bool(app and app.reward is None and app.solved_when is None)
    return replace(limits, trials=1, graded=True) if graded else limits


def parse_setups(
    marker: pytest.Mark, config: pytest.Config, settings: Settings
) -> dict[str, Setup]:
    """Return the set-ups of a marker by the folders of their cassettes.

    If the marker names neither agents nor models, the only set-up is that of the options, and
    its folder is not named. The command line overrides the marker.

    Raises:
        UsageError: an agent can't be made, no model is named or it has no price, or two set-ups
            would share their cassettes.
    """
    options = Setup.of_options(settings)
    if not {"agents", "models"} & marker.kwargs.keys():
        return {"": options}
    agents = [options]
    if config.getoption("miniwob_agent") is None and "agents" in marker.kwargs:
        root = project_folder(config)
        agents = [_agent(given, settings, root) for given in _several("agents", marker)]
    models = [settings.model]
    if config.getoption("miniwob_model") is None and "models" in marker.kwargs:
        models = _several("models", marker)
    setups: dict[str, Setup] = {}
    for agent in agents:
        name = agent.make_agent(config.stash[STATE]).name
        for model in models:
            if not (model and isinstance(model, str)):
                raise UsageError(
                    f"the miniwob marker's models must be ids of models, not {model!r}"
                    if "models" in marker.kwargs
                    else "no model is named: give the marker models=[...], or --miniwob-model"
                )
            if settings.max_cost is not None:
                check_price(model, settings.prices)
            folder = model_folder(name, model)
            if folder in setups:
                raise UsageError(
                    f"the miniwob marker names {folder} twice, and both would share their "
                    "cassettes: give each agent a `name` of its own"
                )
            setups[folder] = agent._replace(model=model)
    return setups


def _several(name: str, marker: pytest.Mark) -> list[Any]:
    given = marker.kwargs[name]
    found = list(given) if isinstance(given, list | tuple) else [given]
    if not found:
        raise UsageError(f"the miniwob marker's {name} are empty: name at least one")
    return found


def _agent(given: Any, settings: Settings, root: Path) -> Setup:
    match given:
        case str():
            return Setup(given, settings.agent_params, None)
        case (str() as name, dict() as params):
            others = {key: value for key, value in params.items() if key != "prompts"}
            own = root / str(params["prompts"]) if "prompts" in params else None
            return Setup(name, others, None, own)
    raise UsageError(
        f"the miniwob marker's agents must be names or module:Class, or pairs of such a name and a "
        f"dict of parameters, not {given!r}"
    )
