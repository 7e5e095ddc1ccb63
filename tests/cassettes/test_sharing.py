"""Answers that variants of an agent share: an equal prompt of a case is asked once."""

import json
from contextlib import closing

import pytest
from filelock import FileLock, Timeout
from support.answers import completion
from support.projects import solve_menu
from support.sweeps import swept

from pytest_miniwob_agent.cassettes.deferred import read_pending
from pytest_miniwob_agent.cassettes.files import ItemFiles
from pytest_miniwob_agent.cassettes.folder import sharing_group
from pytest_miniwob_agent.cassettes.format import read_cassette
from pytest_miniwob_agent.cassettes.modes import Record
from pytest_miniwob_agent.cassettes.recording import RecordedModel, Server
from pytest_miniwob_agent.core.case import Limits
from pytest_miniwob_agent.models.client import LiveModel

AGENT = """
    from pytest_miniwob_agent import Click

    class Agent:
        '''Asks twice the same as each variant does, and once something of its own.'''

        def __init__(self, agent="mine"):
            self.name = agent
            if agent.startswith("mine"):
                self.variant_of = "mine"

        def solve(self, env, llm, note):
            env.reset()
            for prompt in ("What now?", "What now?", f"And for {self.name}?"):
                llm.complete(prompt, "plan")
            env.step(Click(1))
            env.step(Click(2))
"""

TEST = """
    import pytest

    AGENTS = [("agent:Agent", {"agent": name}) for name in ("mine", "mine-plain", "other")]
    AGENTS.append(("agent:Agent", {"agent": "other-b"}))

    @pytest.mark.miniwob("click-menu-2", seeds=[1], repeats=2, agents=AGENTS, models=["m"])
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""

MEMORIES = """
    import pytest

    AGENTS = ["reflective", *(("reflective", {"memory": name}) for name in ("plain", "retry"))]

    @pytest.mark.miniwob("click-menu-2", seeds=[1], trials=2, agents=AGENTS)
    def test_solves(miniwob_episode):
        assert miniwob_episode.solved, miniwob_episode.explain()
"""

ITEMS = [
    f"{agent}/m/click-menu-2/{sample}"
    for agent in ("mine", "mine-plain", "other", "other-b")
    for sample in ("1", "1-2")
]


@pytest.fixture
def variants(project):
    project.write(TEST, agent=AGENT)
    project.server.reply = lambda prompt: f"answer {len(project.server.requests)}"
    return project


def check_shared(project):
    """The first samples of two variants have the same answers, all other items their own."""
    calls = {stem: read_cassette(project.path / f"cassettes/{stem}.yaml") for stem in ITEMS}
    said = {stem: [call.completion.text for call in made[:2]] for stem, made in calls.items()}
    mine, plain = "mine/m/click-menu-2/1", "mine-plain/m/click-menu-2/1"
    assert said[mine] == said[plain]
    assert len({text for texts in said.values() for text in texts}) == 2 * (len(ITEMS) - 1)
    sources = [[call.answered_in for call in calls[stem]] for stem in (mine, plain)]
    assert [set(pair) for pair in zip(*sources, strict=True)] in (
        [{"", first}, {"", second}, {""}] for first in (mine, plain) for second in (mine, plain)
    )
    project.runpytest().assert_outcomes(passed=8)


@pytest.mark.parametrize("workers", ["-n0", *swept("-n2")])
def test_live_recording_asks_once_for_what_variants_share(variants, workers):
    result = variants.record(workers)
    result.assert_outcomes(passed=8)
    result.stdout.fnmatch_lines(["model calls: 2 replayed (2 shared), 22 recorded"])
    assert len(variants.server.requests) == 22
    check_shared(variants)


@pytest.mark.sweep
def test_deferred_requests_of_variants_wait_once(variants):
    args = ["--miniwob-record=defer"]
    pending, file = variants.path / ".miniwob/pending.jsonl", variants.path / "answers.jsonl"
    counts, answered = [], 0
    variants.runpytest(*args, "-k", "mine-plain and not 1-2")
    [earlier] = read_pending(pending)
    variants.runpytest(*args)
    assert earlier in read_pending(pending)
    while waiting := read_pending(pending):
        counts.append(len(waiting))
        lines = []
        for id_ in waiting:
            answered += 1
            body = completion(f"answer {answered}")
            lines.append({"custom_id": id_, "response": {"status_code": 200, "body": body}})
        file.write_text("\n".join(map(json.dumps, lines)))
        result = variants.runpytest(*args, f"--miniwob-answers={file}")
        result.stdout.fnmatch_lines([f"miniwob answers: {len(waiting)} completions recorded"])
    assert counts == [7, 7, 8]
    check_shared(variants)


def test_memories_have_the_same_first_trial(project, chat_server):
    project.write(MEMORIES)

    def reply(prompt):
        if "Find the earliest action" in prompt:
            return "For action index=1, you should click id=2."
        return "click id=3" if ">Save<" in prompt else solve_menu(prompt)

    chat_server.reply = reply
    project.record().assert_outcomes(passed=2, failed=1)
    calls = {
        name: read_cassette(project.path / f"cassettes/reflective{name}/m/click-menu-2/1.yaml")
        for name in ("", "-plain-memory", "-retry-memory")
    }
    own = {name: [call for call in made if not call.answered_in] for name, made in calls.items()}
    first = [call.origin.purpose for call in calls[""] if call.origin.trial == 1]
    assert first == ["plan", "summarise", "plan"]
    for made in calls.values():
        shared = zip(made, calls[""][:3], strict=False)
        assert all(one.request == other.request for one, other in shared)
    assert own["-retry-memory"] == []
    assert {call.origin.trial for call in own["-plain-memory"]} == {2}
    assert "reflect" not in {call.origin.purpose for call in own["-plain-memory"]}
    assert len(chat_server.requests) == sum(map(len, own.values()))


@pytest.mark.parametrize(
    ("stem", "family", "group"),
    [
        ("acme/m/shop/1", "", "acme/m/shop/1"),
        ("acme-b/m/shop/1", "", "acme-b/m/shop/1"),
        ("acme-b/m/shop/1", "acme", "acme/m/shop/1"),
        ("b/m/shop~overlay/1", "acme", "acme/m/shop/1"),
        ("acme/m/shop~overlay/1", "", "acme/m/shop/1"),
        ("acme/m/shop/1-2", "", "acme/m/shop/1-2"),
        ("acme-b/m/shop/1-2", "acme", "acme-b/m/shop/1-2"),
    ],
)
def test_variants_and_the_clean_twin_of_a_perturbed_task_are_a_group(stem, family, group):
    assert sharing_group(stem, family) == group


@pytest.fixture
def ask(tmp_path, chat_server):
    """Ask the model in an item of a family, and record that; the answer."""
    chat_server.reply = lambda prompt: f"answer {len(chat_server.requests)}"

    def ask(stem, record=Record.NEW_EPISODES):
        def connect(on_unusable):
            return LiveModel("m", {}, base_url=chat_server.url, on_unusable=on_unusable)

        own = ItemFiles(tmp_path, stem, record, family="a", state=tmp_path / ".miniwob")
        with closing(own) as files, closing(Server(connect)) as server:
            llm = RecordedModel(files, server, "m", {})
            text = llm.complete("What now?", "plan").text
            llm.finish(Limits())
        return text

    return ask


def test_no_other_process_asks_meanwhile_for_an_answer_that_variants_share(
    ask, chat_server, tmp_path
):
    locked = []

    def reply(prompt):
        [path] = tmp_path.glob(".miniwob/locks/shared/*.lock")
        other = FileLock(path)  # of this process, but no less apart than one of another is
        try:
            other.acquire(blocking=False)
        except Timeout:
            locked.append(path)
        other.release()
        return "answer"

    chat_server.reply = reply
    assert ask("a/m/shop/1") == ask("a-plain/m/shop/1") == "answer"
    assert len(locked) == len(chat_server.requests) == 1


def test_a_perturbed_task_takes_the_answers_of_its_own_agents_clean_twin(ask):
    assert ask("a/m/shop/1") == "answer 1"
    assert ask("a-plain/m/shop/1", Record.ALL) == "answer 2"
    assert ask("a-plain/m/shop~overlay/1") == "answer 2"
    assert ask("a/m/shop~overlay/1") == "answer 1"
