"""An episode on the fake page, and what `miniwob-agent show` prints of it."""

from support.projects import solve_menu


def click_quit_first(prompt):
    """A model that clicks the wrong entry until it reflects, and then the right one."""
    if "Answer with one line of this form" in prompt:
        return "For action index=1, you should click id=2."
    return "click id=3" if ">Save<" in prompt else solve_menu(prompt)


EPISODE = """\
item: n-screen-n-step/click-menu-2/1
goal: Open the menu and click Save, for click-menu-2 1

=== trial 1 ===
screen:
  <button id="1" pos="top-left">Menu</button>

call 1, plan, 11 + 3 tokens
    click id=1

action 0: click id=1
screen:
  <button id="1" pos="top-left">Menu</button>
  <a id="2" pos="top-left">Save</a>
  <a id="3" pos="top-left">Quit</a>

call 2, summarise, 11 + 3 tokens
    The menu was opened.

call 3, plan, 11 + 3 tokens
    click id=3

action 1: click id=3
  the page ends the trial with reward -1

trial 1 ends: failed, reward -1

=== trial 2 ===
screen:
  <button id="1" pos="top-left">Menu</button>

call 4, reflect, 11 + 3 tokens
    For action index=1, you should click id=2.
reflection: action 1 should be click id=2
  not to be clicked there again: id=3

action 0: click id=1
screen:
  <button id="1" pos="top-left">Menu</button>
  <a id="2" pos="top-left">Save</a>
  <a id="3" pos="top-left">Quit</a>

action 1: click id=2
  the page ends the trial with reward 1

trial 2 ends: correct

solved in trial 2, best reward 1: reflective with m
"""
