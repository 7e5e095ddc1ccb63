"""Set-ups: the agents and models that a `miniwob` marker names, or those of the options."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from pytest_miniwob_agent.core.errors import UsageError

if TYPE_CHECKING:
    import pytest

    from pytest_miniwob_agent.core.protocols import Agent
    from pytest_miniwob_agent.plugin.options.settings import Settings


class Setup(NamedTuple):
    """An agent, as `--miniwob-agent` takes it, with its parameters, and a model's id."""

    agent: str
    params: Mapping[str, Any]
    model: str | None

    @classmethod
    def of_options(cls, settings: Settings) -> Setup:
        """Return the agent and the model of the options."""
        return cls(settings.agent, settings.agent_params, settings.model)

    def make_agent(self, settings: Settings, *, task: str = "") -> Agent:
        """Make a new agent; raises as `load_agent`."""
        from pytest_miniwob_agent.agents.registry import load_agent

        return load_agent(self.agent, settings.prompts, self.params, task=task)


def setups_of(marker: pytest.Mark, config: pytest.Config, settings: Settings) -> dict[str, Setup]:
    """Return the set-ups of a marker by the folders of their cassettes.

    Where the marker names neither agents nor models, the only set-up is that of the options, and
    its folder is not named. The command line overrides the marker.

    Raises:
        UsageError: an agent can't be made, no model is named or it has no price, or two set-ups
            would share their cassettes.
    """
    from pytest_miniwob_agent.cassettes.folder.stems import model_folder
    from pytest_miniwob_agent.models.budget import check_price

    options = Setup.of_options(settings)
    if not {"agents", "models"} & marker.kwargs.keys():
        return {"": options}
    agents: list[tuple[str, Mapping[str, Any]]] = [options[:2]]
    if config.getoption("miniwob_agent") is None and "agents" in marker.kwargs:
        agents = [_agent(given, settings) for given in _several("agents", marker)]
    models = [settings.model]
    if config.getoption("miniwob_model") is None and "models" in marker.kwargs:
        models = _several("models", marker)
    setups: dict[str, Setup] = {}
    for agent, params in agents:
        name = Setup(agent, params, None).make_agent(settings).name
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
            setups[folder] = Setup(agent, params, model)
    return setups


def _several(name: str, marker: pytest.Mark) -> list[Any]:
    given = marker.kwargs[name]
    found = list(given) if isinstance(given, list | tuple) else [given]
    if not found:
        raise UsageError(f"the miniwob marker's {name} are empty: name one at least")
    return found


def _agent(given: Any, settings: Settings) -> tuple[str, Mapping[str, Any]]:
    """Return an agent of a marker and its parameters, by default those of the options."""
    match given:
        case str():
            return given, settings.agent_params
        case (str() as name, dict() as params):
            return name, params
    raise UsageError(
        f"the miniwob marker's agents must be names or module:Class, or pairs of such a name and a "
        f"dict of parameters, not {given!r}"
    )
