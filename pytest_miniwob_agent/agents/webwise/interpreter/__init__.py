"""Programs that a model wrote, interpreted: a small part of Python, and nothing beyond it.

A program is read with `ast`, checked as a whole (`checking`), and walked (`evaluation`). It is
never compiled or handed to `exec`. It can call the functions that it is given and a few of Python's
(`functions`); it has no attributes, imports, definitions or exceptions. Values are plain data of
exactly the types in `values.Value`, so that no operator ever runs foreign code. There are no sets:
their order would differ between processes.

All that a program does is paid for in units of work before it is done (`costs`): one for each node
that is visited, and for each character or entry that an operation reads or makes. Work is never
refunded, so one number bounds time and memory alike, and is the same on every machine.

Error messages are our own, the same under every version of Python: they go into prompts, which have
to be equal when they are replayed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pytest_miniwob_agent.agents.webwise.interpreter.checking import parse
from pytest_miniwob_agent.agents.webwise.interpreter.costs import MAX_WORK
from pytest_miniwob_agent.agents.webwise.interpreter.errors import ProgramError
from pytest_miniwob_agent.agents.webwise.interpreter.evaluation import Evaluation
from pytest_miniwob_agent.agents.webwise.interpreter.values import Value

__all__ = ["MAX_WORK", "ProgramError", "Value", "interpret"]


def interpret(
    source: str, functions: Mapping[str, Callable[..., Any]], *, work: int = MAX_WORK
) -> dict[str, Value]:
    """Run a program and return the values of its variables at the end.

    Nothing of it is run unless all of it is in the language. Other exceptions of the functions than
    `ProgramError` pass through.

    Raises:
        ProgramError: anything that is wrong with the program.
    """
    evaluation = Evaluation(functions, work)
    evaluation.run(parse(source, functions))
    return evaluation.variables
