"""Results that no run has produced, for tests of comparisons, gates and their output."""

from pytest_miniwob_agent.core.outcome import Result, Status, Tokens
from pytest_miniwob_agent.results.file import Results

HOSTILE = (
    "a|b`<img src=x>`\r\n::error::gone %0A @someone #1 _x_ [l](http://e) \x1b[31m## ::set-env "
    "\ud83d"
)
"""Text with markup, a mention, a terminal escape, workflow commands and half a surrogate pair."""

LETTERS = dict(zip("+-dewb", Status, strict=True))


def run_of(outcomes, category="n-screen-n-step", task="click-pie", partial=(), first=1):
    """Results with a letter of `LETTERS` for each item; with repeats, a word for each item."""
    endings = {"+": ("correct",), "-": ("cycle", "failed")}
    results = [
        Result(
            category=category,
            task=task,
            seed=seed,
            repeat=repeat,
            agent="a",
            model="m",
            outcome=LETTERS[letter],
            solved_at=1 if letter == "+" else None,
            endings=endings.get(letter, ()),
            reason="" if letter in endings else f"because {letter}",
        )
        for seed, samples in enumerate(outcomes, start=first)
        for repeat, letter in enumerate(samples, start=1)
    ]
    return Results(tuple(results), tuple(partial))


def joined(*parts):
    """The results of several parts of a suite as those of one run."""
    return Results(tuple(result for part in parts for result in part.results))


def make_result(seed, solved=True, category="n-screen-n-step", **fields):
    """One result, with fields to be compared and shown."""
    defaults = {
        "task": "click-pie", "agent": "reflective", "model": "m", "params": {"temperature": 0},
        "prompts": {"plan.txt": "aa", "reflect.txt": "bb"},
        "outcome": Status.SOLVED if solved else Status.UNSOLVED, "solved_at": 1 if solved else None,
        "endings": ("correct",) if solved else ("cycle", "cycle", "failed"), "steps": 3,
        "calls": {"plan": 2}, "tokens": Tokens(1000, 10),
    }  # fmt: skip
    return Result(category=category, seed=seed, **defaults | fields)


def before():
    """A run of 30 items; n-screen-n-step/click-pie/0 and 1 are unsolved."""
    easy = [make_result(seed, category="1-screen-1-step") for seed in range(10)]
    return Results((*easy, *(make_result(seed, seed > 1) for seed in range(20))), source="old")


def after():
    """The same items with another model, parameters and prompts: 1, 5 and 6 are unsolved."""
    new = {
        "model": "m2", "params": {"temperature": 1}, "calls": {"plan": 2, "reflect": 1},
        "prompts": {"plan.txt": "cc", "reflect.txt": "bb", "extra.txt": "dd"},
        "tokens": Tokens(None, 20),
    }  # fmt: skip
    easy = [make_result(seed, category="1-screen-1-step", **new) for seed in range(10)]
    hard = [make_result(seed, seed not in (1, 5, 6), **new) for seed in range(20)]
    return Results((*easy, *hard), source="new")
