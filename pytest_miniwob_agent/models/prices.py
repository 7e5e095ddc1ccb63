"""The price of model calls: tokens, and US dollars where prices are known."""

from __future__ import annotations

import math

from pytest_miniwob_agent.core.chat import Usage
from pytest_miniwob_agent.core.errors import UsageError

Price = tuple[float, float]
"""US dollars for a million prompt tokens and for a million completion tokens."""


def parse_prices(text: str) -> dict[str, Price]:
    """Prices by model id, from `MODEL PROMPT COMPLETION`, one a line or separated by commas.

    Raises:
        UsageError: an entry has another form.
    """
    prices = {}
    for entry in text.replace(",", "\n").splitlines():
        if not entry.strip():
            continue
        try:
            model, *numbers = entry.split()
            prompt, completion = (float(number) for number in numbers)
            if not (0 <= prompt < math.inf and 0 <= completion < math.inf):
                raise ValueError
        except ValueError:
            raise UsageError(
                f"miniwob_prices: {entry.strip()!r} is not a price: give MODEL PROMPT COMPLETION, "
                "in US dollars for a million tokens, such as 'gpt-5 1.25 10'"
            ) from None
        prices[model] = (prompt, completion)
    return prices


def cost_of(usage: Usage, price: Price | None) -> float | None:
    """The cost of calls in US dollars, or None where the price or a token count is unknown."""
    if not usage.calls:
        return 0.0
    if price is None or usage.uncounted:
        return None
    return (usage.prompt * price[0] + usage.completion * price[1]) / 1e6


def tokens(usage: Usage) -> str:
    """Tokens as text: `1,234`, `unknown`, or `1,234 and unknown` where some calls have no count."""
    if usage.calls and usage.uncounted == usage.calls:
        return "unknown"
    return f"{usage.tokens:,}" + (" and unknown" if usage.uncounted else "")


def money(amount: float | None) -> str:
    """US dollars as text, with as many digits as small amounts need."""
    if amount is None:
        return "unknown"
    return f"${amount:.2f}" if amount >= 1 or not amount else f"${amount:.2g}"
