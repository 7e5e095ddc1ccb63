"""Ways back, forward and anew between pages of one's own."""

import pytest
from support.own_pages import TASK, click, texts

from pytest_miniwob_agent import CloseTab, Enter, GoBack, GoForward, Reload, Wait
from pytest_miniwob_agent.screen import render

pytestmark = pytest.mark.integration

COUNTING = """<p id=out></p><script>
  sessionStorage.times = Number(sessionStorage.times ?? 0) + 1;
  out.textContent = `${location.pathname} for the ${sessionStorage.times}. time`;
</script>"""


@pytest.fixture
def site(pages):
    pages.write(
        start_html=f"<!DOCTYPE html><body>{TASK}{COUNTING}<a href=next.html>Next</a>",
        next_html=f"<!DOCTYPE html><body>{TASK}{COUNTING}<a href=#part>Part</a><input id=part>",
    )
    env = pages.open("start")
    return env, env.reset(screen="tree")


def test_a_page_is_gone_back_to_and_loaded_again_without_what_was_entered(site):
    env, seen = site
    for there, done in (
        ("/next.html for the 2. time", click(env, seen, "Next")),
        ("/start.html for the 3. time", env.step(GoBack())),
        ("/next.html for the 4. time", env.step(GoForward())),
    ):
        assert (done.error, texts(done.observation)[0]) == (None, there)
    env.step(Enter("text", done.observation.elements[-1].id))
    for done in (env.step(Reload()), env.step(Wait(1))):
        assert texts(done.observation)[0] == "/next.html for the 5. time"
        assert done.observation.elements[-1].value == ""
    assert env.step(GoForward()).error == "there is no page after this one"


def test_a_part_of_a_page_is_gone_back_from(site):
    env, seen = site
    there = click(env, seen, "Next").observation
    click(env, there, "Part")
    back = env.step(GoBack())
    assert texts(back.observation)[0] == "/next.html for the 2. time"
    assert texts(env.step(GoBack()).observation)[0] == "/start.html for the 3. time"


def test_states_of_an_app_of_one_page_are_gone_back_to(pages):
    env, seen = pages.show(f"""{TASK}<p id=out>first</p><button>Go</button><script>
      document.querySelector("button").onclick = () => {{
        history.pushState("second", "", "?second");
        out.textContent = "second";
      }};
      onpopstate = ({{ state }}) => {{ out.textContent = state ?? "first"; }};
    </script>""", screen="tree")  # fmt: skip
    assert "second" in texts(click(env, seen, "Go").observation)
    assert "first" in texts(env.step(GoBack()).observation)
    assert "second" in texts(env.step(GoForward()).observation)


def test_where_nothing_is_to_go_to_an_action_says_so(pages, open_page):
    env, seen = pages.show(f"{TASK}<p>Page</p>", screen="tree")
    assert seen.further
    assert env.step(GoBack()).error == "there is no page before this one"
    assert env.step(CloseTab()).error == "there is no other tab"
    env, seen = open_page("click-button")
    assert not seen.further
    assert env.step(GoBack()).error == "only pages of your own and apps lead to others"
    assert render(env.step(Reload()).observation.elements) == render(seen.elements)
