"""Structure of the package: sizes, wording, and the answers that CONTRIBUTING gives."""

import ast
import re

from projects import ROOT

PACKAGE = ROOT / "pytest_miniwob_agent"
MODULES = sorted(PACKAGE.rglob("*.py"))
SCRIPTS = sorted(PACKAGE.rglob("*.js"))

FUNCTION_LINES = 60
MODULE_LINES = 450

QUESTIONS = ("What", "Whether", "How", "Why", "Where", "Which", "Who", "When")
"""Words that a docstring does not begin with: it begins with a verb or a noun."""

PRIVATE_WORDS = re.compile(r"(?<!\")\b(?:told|cures?|mend(?:ed|s)?|forgiven?|dear|shel(?:f|ves))\b")
"""Words that were used in a sense of their own; JSON keys keep them."""


def definitions(module):
    tree = ast.parse(module.read_text("utf-8"))
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
    return [tree, *(node for node in ast.walk(tree) if isinstance(node, kinds))]


def test_no_function_has_more_than_60_lines():
    assert [
        f"{module.relative_to(ROOT)}: {node.name}"
        for module in MODULES
        for node in definitions(module)
        if isinstance(node, ast.FunctionDef) and node.end_lineno - node.lineno >= FUNCTION_LINES
    ] == []


def test_no_module_has_more_than_450_lines_without_saying_why():
    assert [
        str(module.relative_to(ROOT))
        for module in [*MODULES, *SCRIPTS]
        if len((text := module.read_text("utf-8")).splitlines()) > MODULE_LINES
        and "In one file because" not in text
    ] == []


def test_docstrings_begin_with_a_verb_or_a_noun():
    assert [
        f"{module.relative_to(ROOT)}: {docstring.splitlines()[0]}"
        for module in MODULES
        for node in definitions(module)
        if (docstring := ast.get_docstring(node)) and docstring.split()[0] in QUESTIONS
    ] == []


def test_words_are_those_of_the_field():
    pages = [*MODULES, *SCRIPTS, *ROOT.glob("*.md"), *ROOT.glob("docs/*.md")]
    assert [
        f"{page.relative_to(ROOT)}:{number}: {line}"
        for page in pages
        for number, line in enumerate(page.read_text("utf-8").splitlines(), start=1)
        if PRIVATE_WORDS.search(line)
    ] == []


def test_answers_in_contributing_name_files_and_functions_that_exist():
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    table = text.split("| where is … | |")[1].split("\n\n")[0]
    answers = [line.split("|")[2] for line in table.splitlines()[2:]]
    assert len(answers) == 26
    for answer in answers:
        names = re.findall(r"`([^`]+)`", answer)
        files = [PACKAGE / name for name in names if "/" in name or name.endswith((".py", ".js"))]
        for file in files:
            assert file.is_file(), file
        for name in names:
            if "/" not in name and not name.endswith(".py"):
                text = "\n".join(file.read_text("utf-8") for file in files)
                for part in name.split("."):
                    assert re.search(rf"^\s*(?:def|class) {part}\b", text, re.M), name
