"""Uploads of files that a task names."""

import pytest
from support.scripted import play

from pytest_miniwob_agent import PageError, Upload
from pytest_miniwob_agent.core.chat import ToolCall
from pytest_miniwob_agent.core.events import Completion
from pytest_miniwob_agent.plugins.tools.agent import ToolsAgent

pytestmark = pytest.mark.integration

BODY = """
    <input type="file" id="field">
    <label style="display: block; position: relative; overflow: hidden">Labelled
      <input type="file" style="opacity: 0; position: absolute"></label>
    <button onclick="cv.click()">Attach</button><input type="file" id="cv" hidden>
    <button onclick="Object.assign(document.createElement('input'),
        {{ type: 'file', onchange: took }}).click()">Other</button>
    <button>Nothing</button><p id="log"></p>
    <script>
      const log = document.getElementById("log");
      let times = 0;
      const took = async ({{ target }}) => {{
        const [file] = target.files;
        const found = [file.name, file.type, file.lastModified, await file.text()];
        log.textContent = `${{++times}}: ${{found.join(", ")}}`;
      }};
      document.addEventListener("change", took);
      const reward = () => (log.textContent ? 1 : 0);
      const task = {{ goal: "Attach your CV.", files: {files}, reward }};
    </script>"""

TOOK = "cv.txt, text/plain, 1600000000000, I am able"


def show(pages, files='["files/cv.txt"]'):
    pages.write(files__cv_txt="I am able")
    return pages.show(BODY.format(files=files).replace("log.textContent ?", "false ?"))


def test_a_file_of_the_task_is_chosen_wherever_the_page_asks_for_one(pages):
    env, seen = show(pages)
    assert seen.files == ("files/cv.txt",)
    fields = [one.id for one in seen.elements if one.tag == "input_file"]
    ids = {one.text: one.id for one in seen.elements}
    for number, place in enumerate((*fields, ids["Attach"], ids["Other"]), start=1):
        after = env.step(Upload("files/cv.txt", place))
        assert after.error is None
        assert after.observation.elements[-1].text == f"{number}: {TOOK}"


def test_what_can_not_be_uploaded_is_an_error_with_its_reason(pages):
    env, seen = show(pages)
    ids = {one.text or one.dom_id: one.id for one in seen.elements}
    other = env.step(Upload("/etc/passwd", ids["field"]))
    assert other.error == "the task has no file '/etc/passwd'; it names files/cv.txt"
    assert (
        env.step(Upload("files/cv.txt", ids["Nothing"])).error == "a click there asks for no file"
    )


@pytest.mark.parametrize(
    ("files", "reason"),
    [
        ('["no.pdf"]', "names 'no.pdf'"),
        ("5", "a list of paths"),
        ('["../../x"]', "not a file of "),
    ],
)
def test_files_that_are_not_there_are_the_page_s_fault(files, reason, pages):
    with pytest.raises(PageError, match=reason):
        show(pages, files)


@pytest.mark.parametrize("named", [True, False])
def test_the_agent_tools_gets_the_tool_only_where_the_task_names_files(named, pages):
    files = '["files/cv.txt"]' if named else "undefined"
    page = pages.make(BODY.format(files=files), files__cv_txt="I am able")
    call = ToolCall("1", "upload", '{"path": "files/cv.txt", "element": 1}')
    episode, llm = play(ToolsAgent(), page, [Completion("", tool_calls=(call,))] * 3, trials=1)
    assert episode.solved == named
    offered = [tool["function"]["name"] for tool in llm.requests[0].body["tools"]]
    assert ("upload" in offered) == named
