"""BrowserGym's protocol on our pages: its observations, its action texts, and its agents.

`player` describes a page, plays action texts on it, which `action_texts` reads, and makes an agent
with `get_action(obs)` an agent here. docs/from-browsergym.md says what is equal and what is not.
"""

from pytest_miniwob_agent.browsergym.player import BrowserGymAgent, Player

__all__ = ["BrowserGymAgent", "Player"]
