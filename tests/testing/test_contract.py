"""The contract of agents: a good agent passes, and each kind of wrong agent fails its test."""

import contextlib
import json
import random
import re

import pytest

from pytest_miniwob_agent import (
    Click,
    Completion,
    Ending,
    LimitReached,
    Press,
    Reflected,
    ToolCall,
    TrialEnded,
    render,
    tools_of,
)
from pytest_miniwob_agent.testing import agent_contract

CLICK = Completion("", tool_calls=(ToolCall("1", "click", '{"element": 1}'),))

ACT = "its_good_replies_make_it_act"
JUDGED = "a_trial_is_over_when_the_page_has_judged"

WRONG = {}


def fails(test, message):
    """Say which test a wrong agent fails, and a part of the message."""

    def note(agent):
        WRONG[agent] = test, message
        return agent

    return note


class Good:
    """Clicks what the model says; each wrong agent differs from it in one point."""

    name = "good"

    def solve(self, env, llm, note):
        done = ""
        while done != "solved":
            seen, done = env.reset(), ""
            while not done:
                done = self.stage(seen, env, llm, note)

    def stage(self, seen, env, llm, note):
        match = re.search(r"click id=(\d{1,9})\b", self.ask(seen, llm))
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


@fails("it_is_an_agent", "lacks a `name`")
class Nameless:
    def solve(self, env, llm, note):
        env.reset()


@fails("its_name_can_be_a_folder", "its name is '../good'")
class NamedLikeAPath(Good):
    name = "../good"


@fails("its_name_can_be_a_folder", "and then 'good-0.")
class NamedByChance(Good):
    def __init__(self):
        self.name = f"good-{random.random()}"


@fails(ACT, "it took no action")
class CannotReadTheReplies(Good):
    def ask(self, seen, llm):
        return super().ask(seen, llm).replace("click", "tap")


@fails(ACT, "without a trial")
class DoesNothing(Good):
    def solve(self, env, llm, note):
        pass


@fails(ACT, "asked the model (for 'plan') before env.reset()")
class AsksBeforeTheReset(Good):
    def solve(self, env, llm, note):
        self.ask(type("Nothing", (), {"goal": "begin"}), llm)


@fails(ACT, "takes an action, such as Click(4), and not")
class ActsWithText(Good):
    def act(self, env, id):
        return env.step(f"click id={id}")


@fails(ACT, "has a wrong element")
class ActsWithTextIds(Good):
    def act(self, env, id):
        return env.step(Click(str(id)))


@fails(ACT, "presses none of ENTER, TAB")
class PressesAnUnknownKey(Good):
    def act(self, env, id):
        return env.step(Press("SUBMIT"))


@fails(ACT, "it made a model call without a prompt: ' '")
class AsksABlankPrompt(Good):
    def ask(self, seen, llm):
        return llm.complete(" ", "plan").text


@fails(JUDGED, "the page has judged this trial")
class ActsAfterTheEnd(Good):
    def stage(self, *given):
        return super().stage(*given) and self.act(given[1], 1) and "lost"


@fails(JUDGED, "it began another trial of a page that it had solved")
class RepeatsASolvedPage(Good):
    def stage(self, *given):
        return super().stage(*given) and "lost"


@fails(JUDGED, "ended correct, when the page judged that it was failed")
class NotesSuccessAlways(Good):
    def stage(self, seen, env, llm, note):
        if done := super().stage(seen, env, llm, note):
            note(TrialEnded(Ending.CORRECT))
        return done


@fails(ACT, "'gave up' is not an Ending, such as Ending.INCOMPLETE")
class NotesAnUnknownEnding(Good):
    def stage(self, seen, env, llm, note):
        note(TrialEnded("gave up"))
        return "lost"


@fails(ACT, "in a trial that it had noted as ended")
class ActsAfterItsNote(Good):
    def stage(self, seen, env, llm, note):
        note(TrialEnded(Ending.INCOMPLETE))
        return super().stage(seen, env, llm, note)


@fails(ACT, "is not a Note of")
class NotesAText(Good):
    def stage(self, seen, env, llm, note):
        note("I see " + seen.goal)
        return super().stage(seen, env, llm, note)


@fails(ACT, "not JSON serializable")
class NotesObjects(Good):
    def stage(self, seen, env, llm, note):
        note(Reflected(0, object()))
        return super().stage(seen, env, llm, note)


@fails("it_accepts_that_a_limit_is_reached", "no result of my action")
class NeedsAResult(Good):
    def act(self, env, id):
        done = None
        with contextlib.suppress(LimitReached):
            done = super().act(env, id)
        if done is None:
            raise RuntimeError("no result of my action")
        return done


@fails("equal_replies_give_equal_episodes", "two new instances of it played differently (good rep")
class AsksRandomPrompts(Good):
    def ask(self, seen, llm):
        return llm.complete(f"How to {seen.goal}? {random.random()}", "plan").text


@fails(
    "it_keeps_nothing_from_one_episode_to_the_next",
    "after it had played before (good replies, on a page that never judges): event",
)
class KeepsItsHistory(Good):
    def __init__(self):
        self.before = []

    def ask(self, seen, llm):
        self.before.append(seen.goal)
        return llm.complete(f"How to {seen.goal}? Before: {self.before}", "plan").text


@fails("no_page_breaks_it", "tuple index out of range\nPlayed with a page with nothing on it. ")
class NeedsAnElement(Good):
    def ask(self, seen, llm):
        return llm.complete(f"How to {seen.goal} on {seen.elements[0]}?", "plan").text


@fails("no_reply_breaks_it", "a page that never judges. The model's last reply was ''")
class NeedsAnId(Good):
    def ask(self, seen, llm):
        reply = super().ask(seen, llm)
        return f"click id={int(reply.split('id=')[1])}"


@fails("it_runs_no_code_of_a_reply", "a program in a reply was run, and made a file")
class RunsPrograms(Good):
    def ask(self, seen, llm):
        reply = super().ask(seen, llm)
        program = re.search("```python\n(.*)```", reply, re.S)
        if program and "made" in reply:
            exec(program[1])
        return reply


class WithTools:
    """Carries out tool calls."""

    name = "with-tools"

    def solve(self, env, llm, note):
        while not self.trial(env, llm):
            pass

    def trial(self, env, llm):
        messages = [{"role": "user", "content": f"How to {env.reset().goal}?"}]
        while calls := (answer := llm.chat(messages, "act", tools=tools_of([Click]))).tool_calls:
            messages.append(answer.message)
            for call in calls:
                transition = self.act(env, call)
                if transition.done:
                    return transition.solved
                result = transition.error or "Done."
                messages.append({"role": "tool", "tool_call_id": call.id, "content": result})
        return False

    def act(self, env, call):
        return env.call(call.name, call.arguments)


@fails("no_tool_call_breaks_it", "with a call with nothing in the answer to every call, on a page")
class TrustsTheArguments(WithTools):
    def act(self, env, call):
        return env.step(Click(json.loads(call.arguments)["element"]))


def contract_tests(agent):
    contract = agent_contract(agent, [CLICK if issubclass(agent, WithTools) else "click id=1"])()
    return {name: getattr(contract, name) for name in dir(contract) if name.startswith("test_")}


@pytest.mark.parametrize("agent", WRONG, ids=lambda agent: agent.__name__)
def test_a_wrong_agent_fails_with_a_message_that_says_why(agent, tmp_path, monkeypatch):
    name, message = WRONG[agent]
    test = contract_tests(agent)[f"test_{name}"]
    arguments = (tmp_path, monkeypatch) if name == "it_runs_no_code_of_a_reply" else ()
    with pytest.raises((Exception, pytest.fail.Exception)) as failure:
        test(*arguments)
    text = "\n".join([str(failure.value), *getattr(failure.value, "__notes__", ())])
    assert message in text


def test_each_test_has_a_wrong_agent_that_fails_it():
    assert set(contract_tests(Good)) == {f"test_{name}" for name, _ in WRONG.values()}


class TestAGoodAgent(agent_contract(Good)):
    """It passes; the tests themselves are inherited."""


class WithAClient(Good):
    """Shows pages and pictures of them by a client."""

    def stage(self, seen, env, *others):
        marks = [element.id for element in seen.elements if element.id]
        self.shot = env.look(marks=marks, zoom=2, rulers=True)
        return super().stage(seen, env, *others)

    def ask(self, seen, llm):
        picture = {"type": "image_url", "image_url": {"url": self.shot.data_url}}
        page = {"type": "text", "text": f"How to {seen.goal} on {render(seen.elements)}?"}
        messages = [{"role": "user", "content": [picture, page]}]
        answer = llm.client.chat.completions.create(model=llm.model, messages=messages)
        return answer.choices[0].message.content or ""


def test_pages_and_pictures_can_be_shown_by_a_client():
    agent_contract(WithAClient)().test_no_page_breaks_it()


def test_a_good_agent_with_tools_passes_what_is_about_tool_calls():
    contract_tests(WithTools)["test_no_tool_call_breaks_it"]()


def test_a_test_module_collects_the_contract_and_shows_its_failures(pytester):
    pytester.makepyfile(
        """
        import re

        from pytest_miniwob_agent import Click
        from pytest_miniwob_agent.testing import agent_contract

        class Agent:
            name = "mine"

            def solve(self, env, llm, note):
                reply = llm.complete(env.reset().goal + "?", "plan").text
                env.step(Click(int(re.search("[0-9]+", reply)[0])))

        TestAgent = agent_contract(Agent)
        """
    )
    result = pytester.runpytest(
        "-pno:randomly", "-pno:hypothesispytest", "-v", "-k", "act or reply"
    )
    result.stdout.fnmatch_lines(
        [
            "*::TestAgent::test_its_good_replies_make_it_act PASSED*",
            "*::TestAgent::test_no_reply_breaks_it FAILED*",
            "E*TypeError: 'NoneType' object is not subscriptable",
            "E*Played with the reply 'nothing' to every call, *",
        ]
    )
