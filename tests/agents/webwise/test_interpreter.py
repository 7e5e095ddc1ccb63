"""Programs of a model are interpreted within bounds, and nothing but ScriptError comes of them."""

import warnings
from textwrap import indent

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_miniwob_agent.plugins.webwise.interpreter import (
    CALL_WORK,
    MAX_SOURCE,
    MAX_WORK,
    ScriptError,
    interpret,
)
from pytest_miniwob_agent.plugins.webwise.language import MAX_NESTING


def run(source, **functions):
    return interpret(source, functions)


def refuse(source, work=MAX_WORK, **functions):
    with pytest.raises(ScriptError) as caught:
        interpret(source, functions, work=work)
    return str(caught.value)


class TestLanguage:
    @pytest.mark.parametrize(
        ("source", "value"),
        [
            ("x = y = -2 + 5 * 2 ** 3", 38),
            ("x = 7 // 2, 7 % 2, 7 / 2", (3, 1, 3.5)),
            ("x = [None, True, 1.5, (), {}, {'a': 1}]", [None, True, 1.5, (), {}, {"a": 1}]),
            ("x = 'b' in 'abc' and 2 not in [1]", True),
            ("x = not None is None", False),
            ("x = 'yes' if 1 > 2 else 'no'", "no"),
            ("x = 'abc'[1] + 'abc'[-1] + 'abcdef'[1:5:2]", "bcbd"),
            ("x = [1, 2]\nx[0] = 5\nx[1] += 1", [5, 3]),
            ("a = x = []\na += [1]\na += 'bc'\na *= 2", [1, "b", "c", 1, "b", "c"]),
            ("(a, [b, c]), d = (1, 'xy'), 4\nx = [a, b, c, d]", [1, "x", "y", 4]),
            ("x = 0\nfor i in range(5):\n  if i == 1: continue\n  if i == 4: break\n  x += i", 5),
            ("x = 0\nfor i in [1]:\n    break\nelse:\n    x = 9", 0),
            ("x = [a + b for a in 'ab' for b in 'xy' if a + b != 'ay']", ["ax", "bx", "by"]),
            ("x = [1]\nfor i in x:\n    if i < 4: x.append(i + 1)", [1, 2, 3, 4]),
            ("i = 'kept'\nx = [i for i in [1]] + [i]", [1, "kept"]),
            ("x = any(t.startswith('b') for t in ['a', 'b'])", True),
            ("x = f'Tab #{1 + 1}'", "Tab #2"),
            ("x = ' A, b '.strip().lower().split(', ')", ["a", "b"]),
            ("x = '-'.join(sorted(['b', 'a'], reverse=True)).replace('-', '+')", "b+a"),
            ("x = enumerate('a', start=1) + [round(1.26, ndigits=1)]", [(1, "a"), 1.3]),
            ("x = []\nx.append(3)\nx.extend([1, 2])\nx = [x.pop(), len(x)]", [2, 2]),
            ("x = [k + str(v) for k, v in {'a': 1}.items()]", ["a1"]),
            ("x = max(1, 5, 3) + min([4, 2]) + sum([1, 2]) + abs(-1) + int('7') + round(1.6)", 20),
            ("x = 'aaa'.replace('a', 'b', count=2) + 'aa'.replace('a', 'c', 1)", "bbaca"),
            ("print('a', 1, sep='', end='')\nx = 1", 1),
            ("x = sum([0.1] * 10)", 0.9999999999999999),  # 1.0 with `sum` since Python 3.12
        ],
    )
    def test_a_program_computes_what_python_does(self, source, value):
        assert run(source)["x"] == value

    def test_functions_are_called_in_order_with_their_arguments(self):
        called = []

        def click(kind, name="", nth=1):
            called.append((kind, name, nth))
            return len(called)

        names = run("a = click('button', 'ONE')\nfor n in 'xy': click('a', n, nth=a)", click=click)
        assert called == [("button", "ONE", 1), ("a", "x", 1), ("a", "y", 1)]
        assert names["a"] == 1

    def test_nothing_is_run_of_a_program_that_is_not_in_the_language(self):
        called = []
        message = refuse("click(1)\nimport os", click=called.append)
        assert (message, called) == ("line 2: Import can't be used here", [])

    def test_an_error_of_a_function_gets_its_line_and_others_pass_through(self):
        def click(error):
            raise {"ours": ScriptError("there is no Save"), "other": KeyboardInterrupt()}[error]

        assert refuse("x = 1\nclick('ours')", click=click) == "line 2: there is no Save"
        assert refuse("click(1, 2)", click=click) == "line 1: click() takes other arguments"
        with pytest.raises(KeyboardInterrupt):
            run("click('other')", click=click)


REFUSED = {
    # Ways out
    "().__class__": "line 1: Attribute can't be used here",
    "'{0.__class__}'.format(1)": "line 1: str has no method .format()",
    "import os": "line 1: Import can't be used here",
    "__builtins__": "line 1: the name '__builtins__' has no value",
    "click = 1": "line 1: this can't be given a value",
    "x = lambda: 1": "line 1: Lambda can't be used here",
    "[len][0]('x')": "line 1: only a function can be called by its name",
    "def f(): f()": "line 1: FunctionDef can't be used here",
    "print(*'ab')": "line 1: Starred can't be used here",
    "print(**{})": "line 1: this can't be done with dict",
    "x = {**{}}": "line 1: Dict can't be used here",
    "x = {1, 2}": "line 1: Set can't be used here",
    "x = b'a'": "line 1: Constant can't be used here",
    "x = [1]\nx[0:1] = [2]": "line 2: this can't be given a value",
    "x = (1, 2)\nx[0] += 1": "line 2: this can't be done with tuple and int and int",
    # Mistakes
    "x = {}\nx['a'] += 1": "line 2: there is no such entry",
    "1 / 0": "line 1: this divides by zero",
    "{[]: 1}": "line 1: this can't be done with dict and list and int",
    "for i in 5: pass": "line 1: this can't be done with int",
    "a, b = [1]": "line 1: 2 values were expected, not 1",
    "1 is 1": "line 1: 'is' can only ask for None, True or False; use == instead",
    "','.join(5)": "line 1: this can't be done with str and int",
    "break": "line 1: break and continue belong in a loop",
    "click(": "this is no valid Python",
    "f'{f\"{1}\"}'": "this is no valid Python",
    # Numbers and texts without end
    "10 ** 10 ** 10": "line 1: the number is too big",
    "2 ** 255 * 4": "line 1: the number is too big, or not a real one",
    "1 << 10 ** 9": "line 1: LShift can't be used here",
    "0x" + "f" * 5000: "line 1: the number is too big",
    "9" * 5000: "this is no valid Python",
    "int('z' * 4000, base=36)": "line 1: the number is too big, or not a real one",
    "round(5, -10 ** 9)": "line 1: this can't be done with int and int",
    "(-8) ** 0.5": "line 1: the number is too big, or not a real one",
    "'%999999999d' % 1": "line 1: str can't be formatted with %",
    "f'{1:>999999999}'": "line 1: FormattedValue can't be used here",
    # Names that Python has not given to what its functions take
    "x = 'a' * 30000\ny = x.join(parts=x)": "line 2: this can't be done with str and str",
    "sorted(values=[1])": "line 1: this can't be done with list",
    # Depth
    "-" * 9000 + "1": "the program is nested too deep",
    "if 1: 1\n" + "elif 1: 1\n" * 200: "the program is nested too deep",
    "[1 " + "for a in 'a' " * 500 + "]": "the program is nested too deep",
    "x = 1\n" * MAX_SOURCE: f"the program has 60000 characters; {MAX_SOURCE} are allowed",
}


def test_a_program_is_refused_with_our_own_message():
    assert {source: refuse(source, click=lambda: None) for source in REFUSED} == REFUSED


TOO_MUCH = [
    "while True: pass",
    "x = list(range(10 ** 9))",
    "[a for a in range(10 ** 5) for b in range(10 ** 5)]",
    "x = 'a' * 10 ** 9",
    "d = {}\nfor i in range(5000): d[i] = i\nx = []\nwhile 1: x += d",
    "x = (0,)\nfor i in range(50): x = (x, x)\ny = {x: 1}",
    "x = 'a' * 999\nfor i in '12': x = x.replace('a', x)",
    "x = 'a' * 9999\nwhile 1: y = 'b' in x",
    "x = list(range(9999))\nwhile 1: y = sorted(x)",
    "x = {}\ni = 0\nwhile 1:\n    x[i] = 'a' * 999\n    i += 1",
    "while 1: objects()",
    "x = [1]\nfor i in range(24): x = [x, x]\ny = str(object=x)",
]


class TestBounds:
    @pytest.mark.parametrize("source", TOO_MUCH)
    def test_a_program_that_does_too_much_is_stopped(self, source):
        reason = refuse(source, 20_000, objects=lambda: [{"text": "x"}])
        assert reason.endswith("the program does too much: too many steps, or too large values")

    def test_work_is_counted_and_not_timed(self):
        rounds = []
        with pytest.raises(ScriptError):
            interpret("while 1: tick()", {"tick": lambda: rounds.append(1)}, work=CALL_WORK * 100)
        assert 90 <= len(rounds) <= 100

    @pytest.mark.parametrize("use", ["x == x", "str(x)", "sorted(x)", "x * 2", "show(x)"])
    def test_a_list_that_contains_itself_is_refused(self, use):
        source = f"x = []\nx.append(x)\n{use}"
        assert refuse(source, show=lambda _: None) == "line 3: a list is nested too deep"

    @pytest.mark.parametrize(("given", "kind"), [({1}, "set"), ([object()], "object")])
    def test_a_function_may_return_plain_data_only(self, given, kind):
        message = f"line 1: a value of the type {kind} can't be used here"
        assert refuse("x = give()", give=lambda: given) == message

    def test_a_deep_program_that_is_allowed_fits_the_stack(self):
        assert MAX_NESTING > 45
        assert isinstance(outcome("x = " + "[" * 45 + "]" * 45), dict)


def outcome(source):
    calls = []

    def click(kind, name="", nth=1):
        calls.append((kind, name, nth))

    try:
        names = interpret(source, {"click": click, "objects": lambda: [{"tag": "a"}]}, work=20_000)
    except ScriptError as error:
        return str(error)
    assert len(calls) <= 20_000 / CALL_WORK
    return names


NAMES = st.sampled_from(["x", "y", "i", "__x__", "len", "click"])
ATOMS = st.one_of(
    st.integers(-(10**12), 10**12).map(repr),
    st.floats().map(repr),
    st.text(max_size=8).map(repr),
    st.sampled_from(["None", "True", "[]", "()", "{}", "range(9**9)", "objects()", "b''", "1e999"]),
    NAMES,
)
OPERATORS = st.sampled_from(
    [*"+-*/%@<", "//", "**", "<<", "==", "in", "is", "and", "or", "not in", "if x else"]
)
METHODS = st.sampled_from(["append", "extend", "pop", "join", "replace", "items", "__len__"])
FUNCTIONS = st.sampled_from(
    ["len", "range", "sorted", "sum", "max", "str", "int", "list", "dict", "zip", "round", "click"]
)


def filled(template, *parts):
    return st.tuples(*parts).map(lambda texts: template.format(*texts))


def compound(inner):
    several = st.lists(inner, min_size=1, max_size=3).map(", ".join)
    return st.one_of(
        filled("({} {} {})", inner, OPERATORS, inner),
        filled("[{}]", several),
        filled("({},)", several),
        filled("{{{}: {}}}", inner, inner),
        filled("{}[{}]", inner, inner),
        filled("{}[{}:{}]", inner, inner, inner),
        filled("{}.{}({})", inner, METHODS, several),
        filled("{}({})", FUNCTIONS, several),
        filled("[{} for {} in {} if {}]", inner, NAMES, inner, inner),
        filled("f'{{{}}}'", inner),
        filled("-{}", inner),
    )


EXPRESSIONS = st.recursive(ATOMS, compound, max_leaves=12)
SIMPLE = st.one_of(
    EXPRESSIONS,
    filled("{} {} {}", NAMES, st.sampled_from(["=", "+=", "*=", "**="]), EXPRESSIONS),
    filled("{}[{}] = {}", NAMES, EXPRESSIONS, EXPRESSIONS),
    filled("{}, {} = {}", NAMES, NAMES, EXPRESSIONS),
    st.sampled_from(["break", "continue", "pass", "del x", "import os", "return"]),
)


def blocks(inner):
    body = st.lists(inner, min_size=1, max_size=3).map("\n".join).map(lambda c: indent(c, "    "))
    return st.one_of(
        filled("if {}:\n{}\nelse:\n{}", EXPRESSIONS, body, body),
        filled("while {}:\n{}", EXPRESSIONS, body),
        filled("for {} in {}:\n{}", NAMES, EXPRESSIONS, body),
    )


STATEMENTS = st.recursive(SIMPLE, blocks, max_leaves=6)
PROGRAMS = st.lists(STATEMENTS, min_size=1, max_size=6).map("\n".join)


def compare_with_python(source):
    """Where a program comes to its end, its variables hold what they would hold in Python."""
    ours = outcome(source)
    assert repr(ours) == repr(outcome(source))
    if isinstance(ours, str):
        return
    scope = {"click": lambda kind, name="", nth=1: None, "objects": lambda: [{"tag": "a"}]}
    scope |= {"print": lambda *values: None}
    with warnings.catch_warnings():  # Python warns of code that it need not run, such as 0[0]
        warnings.simplefilter("ignore", SyntaxWarning)
        try:
            program = compile(source, "program", "exec")
        except SyntaxError:  # such as a `break` outside of a loop, which ours never came to
            return
        exec(program, scope)
    theirs = {name: scope[name] for name in ours}
    assert _comparable(ours) == _comparable(theirs)


class TestAnyProgram:
    @settings(max_examples=10, deadline=None)
    @given(PROGRAMS)
    @example("x = y = [1]\nx += y\nfor i in x: x.pop()")
    @example("x = sorted([], [])")
    @example("if 1:\n  x = 1\nelse:\n  break")
    @example("if 1:\n  x = 1\nelse:\n  0[0]")
    def test_a_program_leaves_the_values_that_python_leaves(self, source):
        compare_with_python(source)

    @pytest.mark.sweep
    @settings(max_examples=150, deadline=None)
    @given(PROGRAMS)
    def test_many_programs_leave_the_values_that_python_leaves(self, source):
        compare_with_python(source)

    @settings(max_examples=50, deadline=None)
    @given(st.text(max_size=200) | st.text("()[]{}:,.=+-*'\"\\#fx1 \n\t", max_size=300))
    @example("\udcff = 1")
    @example("x = '\\ud800'\nclick(x)")
    def test_any_text_is_a_program_or_an_error(self, source):
        outcome(source)


def _comparable(value):
    """A value as text, with what Python makes lazily made into lists."""
    if isinstance(value, dict):
        return {repr(key): _comparable(one) for key, one in value.items()}
    if isinstance(value, list | range | type({}.items()) | zip | enumerate | reversed):
        return [_comparable(one) for one in value]
    if isinstance(value, tuple):
        return tuple(_comparable(one) for one in value)
    return repr(value)
