"""What the documents name exists: options, commands, files; and their code can be read."""

import ast
import configparser
import re
import runpy
import shlex
import tomllib
from functools import cache

import pytest
import yaml
from lxml import etree
from support.projects import ROOT

from pytest_miniwob_agent.cli import main
from pytest_miniwob_agent.plugin.reading import SUITES, all_options
from pytest_miniwob_agent.results.gate import Gate

PAGES = [*sorted(ROOT.joinpath("docs").glob("*.md")), *sorted(ROOT.glob("*.md"))]
PAGES += [ROOT / "cassettes" / "README.md", ROOT / "examples" / "README.md"]
BY_NAME = {option.name.removeprefix("--miniwob-"): option for option in all_options()}


def text_of(page):
    """The page with lines that a backslash breaks put together."""
    return page.read_text("utf-8").replace("\\\n", " ")


def blocks(language):
    for page in PAGES:
        for match in re.finditer(rf"^```{language}\n(.*?)^```$", text_of(page), re.M | re.S):
            yield page.name, match[1]


def test_options_exist():
    text = "\n".join(map(text_of, PAGES))
    for name, value in re.findall(r"--miniwob-([a-z-]*[a-z])(?:[= ]([\w:.-]*[\w:.]))?", text):
        assert name in BY_NAME, f"there is no --miniwob-{name}"
        if name == "gate" and value and not value.isupper():
            Gate.parse(value.rstrip(".:"))
        choices = BY_NAME[name].choices
        assert not (choices and value) or value.rstrip(".:") in choices, f"{name}: {value}"
    for name in re.findall(r"\b(miniwob_\w+) ?=(?!=)", text):
        assert name in {option.ini for option in all_options()} | {SUITES}, (
            f"no ini setting is called {name}"
        )


@pytest.fixture
def help_of(capsys):
    def call(*command):
        with pytest.raises(SystemExit) as stop:
            main([*command, "--help"])
        text = capsys.readouterr().out
        return None if stop.value.code else text

    return cache(call)


def test_commands_exist(help_of):
    text = "\n".join(map(text_of, PAGES))
    for line in re.findall(r"(?<![\w-])miniwob-agent +((?:[a-z]+|--help)\b[^`\n|;>]*)", text):
        try:
            words = shlex.split(line, comments=True)
        except ValueError:  # prose with an apostrophe
            words = line.split()
        about = help_of(words[0])
        assert about is not None, f"there is no miniwob-agent {words[0]}"
        if "STEP" in about and len(words) > 1:
            about = help_of(*words[:2])
            assert about is not None, f"there is no miniwob-agent {' '.join(words[:2])}"
        for flag in re.findall(r"(?<= )--[a-z][a-z-]*", " " + line.partition(" -- ")[0]):
            assert flag in about, f"miniwob-agent {words[0]} has no {flag}"


@cache
def sections(page):
    """The sections of a page by their anchors, as GitHub makes them; "" is the whole page."""
    text = re.sub(r"^```.*?^```$", "", page.read_text("utf-8"), flags=re.M | re.S)
    headings = [(len(m[1]), m[2], m.start()) for m in re.finditer(r"^(#+) (.*)$", text, re.M)]
    found = {"": text}
    for number, (level, heading, start) in enumerate(headings):
        ends = (end for other, _, end in headings[number + 1 :] if other <= level)
        anchor = re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-")
        found[anchor] = text[start : next(ends, None)]
    return found


def links():
    """The text of each link to a file or a section, with the file and the section's anchor."""
    for page in PAGES:
        for text, target, anchor in re.findall(
            r"(?<!!)\[([^]]+)\]\(([^)#\s]*)#?([^)\s]*)\)", text_of(page)
        ):
            if "://" not in target:
                yield text, page.parent / target if target else page, anchor


def test_links_lead_somewhere():
    for text, other, anchor in links():
        assert other.exists(), other
        assert not anchor or anchor in sections(other), f"[{text}]: {other}#{anchor}"


def stems(text):
    common = {"a", "and", "are", "how", "in", "it", "of", "on", "the", "they", "to", "what"}
    return {word.rstrip("s")[:5] for word in re.findall(r"[a-z]+", text.lower())} - common


def test_what_is_linked_speaks_of_what_the_link_says():
    """The two share a word: in the file's name, a heading, or what is set off in the text."""
    for text, other, anchor in links():
        if other.suffix == ".md":
            set_off = r"^#+ .*|\*\*[^*]+\*\*|`[^`\n]+`|(?<=\[)[^]]+(?=\])"
            terms = re.findall(set_off, sections(other)[anchor], re.M)
            assert stems(text) & stems(" ".join([other.stem, *terms])), (
                f"[{text}]: {other}#{anchor}"
            )


def test_rows_of_a_table_are_together():
    """A blank line between them, or none around them, would end or swallow the table."""
    for page in PAGES:
        for table in re.findall(r"(?:^ *\|.*\n)+", sections(page)[""], re.M):
            assert re.match(r".*\n *\|[ :|-]+\|\n", table), table
        assert not re.search(r"^ *\|.*\n *[^| \n]", sections(page)[""], re.M), page


def test_the_index_lists_every_page():
    """The site's navigation is made of it."""
    folder = ROOT / "docs"
    listed = re.findall(r"^- \[[^]]+\]\(([\w-]+\.md)\)", (folder / "index.md").read_text(), re.M)
    assert sorted([*listed, "index.md"]) == sorted(page.name for page in folder.glob("*.md"))


def test_the_page_of_options_is_what_make_options_writes():
    script = runpy.run_path(str(ROOT / "docs" / "options_page.py"))
    assert script["PAGE"].read_text("utf-8") == script["render"]()


def test_the_examples_of_options_can_be_read_as_toml():
    page = (ROOT / "docs" / "options.md").read_text("utf-8")
    examples = re.findall(r"^`--.*`, or `(miniwob_[^`]*)`\.", page, re.M)
    assert len(examples) == page.count("\n### ")
    for example in examples:
        tomllib.loads(example)


def read_ini(text):
    parser = configparser.ConfigParser()
    parser.read_string(text if text.startswith("[") else f"[pytest]\n{text}")


READERS = {
    "html": lambda text: etree.fromstring(f"<body>{text}</body>"),
    "ini": read_ini,
    "python": ast.parse,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
}


@pytest.mark.parametrize("language", READERS)
def test_code_can_be_read(language):
    found = list(blocks(language))
    assert found
    for page, text in found:
        try:
            READERS[language](text)
        except (SyntaxError, ValueError, configparser.Error, yaml.YAMLError) as error:
            pytest.fail(f"{page}: {error}\n{text}", pytrace=False)


def test_code_is_of_a_language_that_is_checked():
    languages = {
        language for page in PAGES for language in re.findall(r"^ *```(\w+)$", text_of(page), re.M)
    }
    assert languages <= {*READERS, "console", "text"}


def test_the_workflows_have_steps():
    """What the two services need to find in them, as far as it can be known here."""
    for _, github in workflows():
        for job in github["jobs"].values():
            assert all(("uses" in step) != ("run" in step) for step in job["steps"])
        assert True in github or "on" in github  # YAML 1.1 reads the key `on` as a truth value
    [gitlab] = (yaml.safe_load(text) for page, text in blocks("yaml") if page.startswith("gate-"))
    (job,) = (each for each in gitlab.values() if "script" in each)
    assert all(isinstance(line, str) for line in job["before_script"] + job["script"])


def workflows():
    """The workflows of GitHub Actions: those of the documents and of this repository."""
    for page, text in blocks("yaml"):
        if "runs-on:" in text:
            yield page, yaml.safe_load(text)
    for path in sorted(ROOT.glob(".github/workflows/*.yml")):
        yield path.name, yaml.safe_load(path.read_text("utf-8"))


def test_a_matrix_of_shards_has_all_of_them_and_results_a_verdict():
    seen = []
    for page, workflow in workflows():
        for job in workflow["jobs"].values():
            run = " ".join(step.get("run", "") for step in job["steps"])
            split = re.search(r"--splits=(\d+) --group=\$\{\{ matrix.group \}\}", run)
            if split is None:
                continue
            assert job["strategy"]["matrix"]["group"] == [*range(1, int(split[1]) + 1)], page
            assert not job["strategy"]["fail-fast"], page
            assert "-p no:randomly" in run, page  # the shards would overlap
            seen.append(page)
            if "--miniwob-results" in run:
                steps = workflow["jobs"]["verdict"]["steps"]
                after = " ".join(step.get("run", "") for step in steps)
                assert re.search(r"results merge .* compare .* --gate ", after), page
    assert seen == ["ci.yml", "nightly.yml"]
