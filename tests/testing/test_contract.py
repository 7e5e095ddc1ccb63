"""The contract that is shipped for agents: a good one passes, and each kind of wrong one fails."""

import pytest

from pytest_miniwob_agent.testing import agent_contract
from pytest_miniwob_agent.testing.contract import AgentContract

AGENTS = '''
import random
import re

from pytest_miniwob_agent import (
    Click, Ending, LimitReached, MiniwobError, Press, Reflected, StepLimit, TrialEnded,
)

class Good:
    """Clicks what it is told to; the wrong ones differ from it in one point."""

    name = "good"

    def solve(self, env, llm, note):
        while True:
            seen = env.reset()
            while not (done := self.stage(seen, env, llm, note)):
                pass
            if self.over(done):
                return

    def over(self, done):
        return done == "solved"

    def stage(self, seen, env, llm, note):
        match = re.search(r"click id=(\\d{1,9})\\b", self.ask(seen, llm))
        if not match:
            return "lost"
        transition = self.act(env, int(match[1]))
        if transition.solved:
            return "solved"
        return "lost" if transition.done or transition.error else ""

    def ask(self, seen, llm):
        return llm.complete(f"How to {seen.goal}?", "plan").text

    def act(self, env, id):
        return env.step(Click(id))


class Nameless:
    def solve(self, env, llm, note):
        env.reset()

class NamedLikeAPath(Good):
    name = "../good"

class NamedByChance(Good):
    def __init__(self):
        self.name = f"good-{random.random()}"

class OfAnotherGrammar(Good):
    def ask(self, seen, llm):
        return super().ask(seen, llm).replace("click", "tap")

class Idle(Good):
    def solve(self, env, llm, note):
        pass

class Hasty(Good):
    def solve(self, env, llm, note):
        self.ask(type("Nothing", (), {"goal": "begin"}), llm)

class Blind(Good):
    def solve(self, env, llm, note):
        self.act(env, 1)

class HtmlFirst(Good):
    def solve(self, env, llm, note):
        env.html()

class OfItsOwnActions(Good):
    def act(self, env, id):
        return env.step(f"click id={id}")

class OfTextIds(Good):
    def act(self, env, id):
        return env.step(Click(str(id)))

class OfUnknownKeys(Good):
    def act(self, env, id):
        return env.step(Press("SUBMIT"))

class Promptless(Good):
    def ask(self, seen, llm):
        return llm.complete(" ", "plan").text

class Purposeless(Good):
    def ask(self, seen, llm):
        return llm.complete("?", None).text

class ActsOn(Good):
    def stage(self, *given):
        return super().stage(*given) and self.act(given[1], 1) and "lost"

class ActsOnUnderCover(Good):
    def stage(self, *given):
        done = super().stage(*given)
        if done:
            try:
                self.act(given[1], 1)
            except:
                pass
        return done

class Insatiable(Good):
    def over(self, done):
        return False

class Boasts(Good):
    def stage(self, seen, env, llm, note):
        if done := super().stage(seen, env, llm, note):
            note(TrialEnded(Ending.CORRECT))
        return done

class Despairs(Good):
    def stage(self, seen, env, llm, note):
        if done := super().stage(seen, env, llm, note):
            note(TrialEnded(Ending.INCOMPLETE))
        return done

class EndsInItsOwnWords(Good):
    def stage(self, seen, env, llm, note):
        note(TrialEnded("gave up"))
        return "lost"

class GoesOnAfterTheEnd(Good):
    def stage(self, seen, env, llm, note):
        note(TrialEnded(Ending.INCOMPLETE))
        return super().stage(seen, env, llm, note)

class NotesATrace(Good):
    def stage(self, seen, env, llm, note):
        note("I see " + seen.goal)
        return super().stage(seen, env, llm, note)

class NotesObjects(Good):
    def stage(self, seen, env, llm, note):
        note(Reflected(0, object()))
        return super().stage(seen, env, llm, note)

class Unlimited(Good):
    def act(self, env, id):
        while True:
            try:
                return super().act(env, id)
            except LimitReached:
                pass

class AsksWithoutEnd(Good):
    def ask(self, seen, llm):
        while True:
            try:
                return super().ask(seen, llm)
            except Exception:
                pass

class CatchesAll(Good):
    def solve(self, env, llm, note):
        try:
            super().solve(env, llm, note)
        except Exception:
            pass

class Retries(Good):
    def ask(self, seen, llm):
        try:
            return super().ask(seen, llm)
        except MiniwobError:
            return super().ask(seen, llm)

class Rewords(Good):
    def act(self, env, id):
        try:
            return super().act(env, id)
        except MiniwobError as error:
            raise RuntimeError("the page is gone") from error

class ReplacesErrors(Good):
    def ask(self, seen, llm):
        try:
            return super().ask(seen, llm)
        except MiniwobError as error:
            raise type(error)("the model is gone")

class RereadsTheHtml(Good):
    def stage(self, seen, env, llm, note):
        try:
            env.html()
        except MiniwobError:
            return "lost"
        return super().stage(seen, env, llm, note)

class Fickle(Good):
    def ask(self, seen, llm):
        return llm.complete(f"How to {seen.goal}? {random.random()}", "plan").text

class Remembers(Good):
    def __init__(self):
        self.before = []

    def ask(self, seen, llm):
        self.before.append(seen.goal)
        return llm.complete(f"How to {seen.goal}? Before: {self.before}", "plan").text

class NeedsAnElement(Good):
    def ask(self, seen, llm):
        return llm.complete(f"How to {seen.goal} on {seen.elements[0]}?", "plan").text

class NeedsPlainText(Good):
    def ask(self, seen, llm):
        return llm.complete(seen.goal.encode().decode() + "?", "plan").text

class NeedsAnId(Good):
    def ask(self, seen, llm):
        reply = super().ask(seen, llm)
        return f"click id={int(reply.split('id=')[1])}"

class ReadsAnyNumber(Good):
    def ask(self, seen, llm):
        numbers = re.findall("[0-9]+", super().ask(seen, llm))
        return "".join(f"click id={int(each)}" for each in numbers)

class FallsOverABracket(Good):
    def ask(self, seen, llm):
        reply = super().ask(seen, llm)
        if re.search("%.*#", reply):
            raise ValueError(reply)
        return reply

class RunsPrograms(Good):
    def ask(self, seen, llm):
        reply = super().ask(seen, llm)
        program = re.search("```python\\n(.*)```", reply, re.S)
        if program and "made" in reply:
            exec(program[1])
        return reply
'''

WRONG = {
    "Nameless": ("it_is_an_agent", "lacks a `name`"),
    "NamedLikeAPath": ("its_name_can_be_a_folder", "its name is '../good'"),
    "NamedByChance": ("its_name_can_be_a_folder", "and then 'good-0."),
    "OfAnotherGrammar": ("its_good_replies_make_it_act", "it took no action"),
    "Idle": ("its_good_replies_make_it_act", "without a trial"),
    "Hasty": ("its_good_replies_make_it_act", "asked the model (for 'plan') before there was"),
    "Blind": ("its_good_replies_make_it_act", "it acted (click id=1) before there was a page"),
    "HtmlFirst": ("its_good_replies_make_it_act", "it read the page before there was a page"),
    "OfItsOwnActions": ("its_good_replies_make_it_act", "is no action of"),
    "OfTextIds": ("its_good_replies_make_it_act", "has a wrong element"),
    "OfUnknownKeys": ("its_good_replies_make_it_act", "presses none of ENTER, TAB"),
    "Promptless": ("its_good_replies_make_it_act", "the prompt of its model call is no text: ' '"),
    "Purposeless": ("its_good_replies_make_it_act", "the purpose of its model call is no text"),
    "ActsOn": ("a_trial_is_over_when_the_page_has_judged", "on a page that had judged"),
    "ActsOnUnderCover": ("a_trial_is_over_when_the_page_has_judged", "on a page that had judged"),
    "Insatiable": (
        "a_trial_is_over_when_the_page_has_judged",
        "it began another trial of a page that it had solved",
    ),
    "Boasts": (
        "a_trial_is_over_when_the_page_has_judged",
        "ended correct, when the page judged that it was failed",
    ),
    "Despairs": (
        "a_trial_is_over_when_the_page_has_judged",
        "ended incomplete, when the page judged that it was",
    ),
    "EndsInItsOwnWords": ("its_good_replies_make_it_act", "noted 'gave up' as how a trial ended"),
    "GoesOnAfterTheEnd": ("its_good_replies_make_it_act", "that it had noted as ended"),
    "NotesATrace": ("its_good_replies_make_it_act", "which is no Note of"),
    "NotesObjects": ("its_good_replies_make_it_act", "can't be written as JSON"),
    "Unlimited": ("it_takes_a_limit_for_an_answer", "told 11 times that a limit is reached"),
    "AsksWithoutEnd": ("it_takes_a_limit_for_an_answer", "(1 model calls are used up)"),
    "CatchesAll": ("errors_of_page_and_model_pass", "it caught BrowserLost, which is for the run"),
    "Retries": ("errors_of_page_and_model_pass", "it went on (complete) after ModelError"),
    "Rewords": ("errors_of_page_and_model_pass", "RuntimeError: the page is gone"),
    "ReplacesErrors": ("errors_of_page_and_model_pass", "ModelError: the model is gone"),
    "RereadsTheHtml": ("errors_of_page_and_model_pass", "it went on (reset) after BrowserLost"),
    "Fickle": ("equal_replies_give_equal_episodes", "two new instances of it played differently"),
    "Remembers": (
        "it_keeps_nothing_from_one_episode_to_the_next",
        "it played differently after it had played before: event 2",
    ),
    "NeedsAnElement": ("no_page_breaks_it", "IndexError"),
    "NeedsPlainText": ("no_page_breaks_it", "surrogates not allowed"),
    "NeedsAnId": ("no_reply_breaks_it", "The model's last reply was ''"),
    "ReadsAnyNumber": ("no_reply_breaks_it", "Exceeds the limit"),
    "FallsOverABracket": ("no_generated_reply_breaks_it", "FallsOverABracket"),
    "RunsPrograms": ("it_runs_no_code_of_a_reply", "a program in a reply was run, and made a file"),
}
"""Which tests a wrong agent fails, and what is said of it."""


@pytest.fixture
def run(pytester):
    """Run the contract for one of `AGENTS`."""
    pytester.makepyfile(agents=AGENTS)

    def run(agent, test=""):
        pytester.makepyfile(
            test_mine=f"""
            from agents import {agent}
            from pytest_miniwob_agent.testing import agent_contract

            TestMine = agent_contract({agent})
            """
        )
        return pytester.runpytest(
            "-q", "-pno:randomly", "-pno:hypothesispytest", "-x", f"test_mine.py::TestMine{test}"
        )

    return run


def test_a_good_agent_passes(run):
    result = run("Good")
    assert result.ret == 0
    assert result.parseoutcomes().keys() == {"passed"}


@pytest.mark.parametrize("agent", WRONG)
def test_a_wrong_agent_fails(run, agent):
    test, message = WRONG[agent]
    result = run(agent, f"::test_{test}")
    outcomes = result.parseoutcomes()
    assert outcomes.keys() <= {"failed", "passed"}
    assert outcomes["failed"]
    assert message in result.stdout.str()


def test_each_test_has_an_agent_that_fails_it():
    tests = {name for name in vars(AgentContract) if name.startswith("test_")}
    assert tests == {f"test_{test}" for test, _ in WRONG.values()}


def test_it_takes_a_class_and_no_instance():
    class Agent:
        name = "mine"

        def solve(self, env, llm, note):
            env.reset()

    with pytest.raises(TypeError, match="takes an agent's class, not <"):
        agent_contract(Agent())
