"""Programs of a model are interpreted within bounds, and nothing but ProgramError comes of them."""

import warnings

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from pytest_miniwob_agent.agents.webwise.interpreter import CALL_WORK, MAX_WORK, interpret
from pytest_miniwob_agent.agents.webwise.language import MAX_NESTING, MAX_SOURCE, ProgramError


def run(source, **functions):
    return interpret(source, functions)


def refuse(source, **functions):
    with pytest.raises(ProgramError) as caught:
        run(source, **functions)
    return str(caught.value)


class TestLanguage:
    @pytest.mark.parametrize(
        ("source", "value"),
        [
            ("x = 3", 3),
            ("x = y = -2 + 5 * 2 ** 3", 38),
            ("x = 7 // 2, 7 % 2, 7 / 2", (3, 1, 3.5)),
            ("x = 'a' + \"b\" * 3", "abbb"),
            ("x = [1, 2] + [3]", [1, 2, 3]),
            ("x = [None, True, 1.5, (), {}, {'a': 1}]", [None, True, 1.5, (), {}, {"a": 1}]),
            ("x = 1 < 2 <= 2 != 3", True),
            ("x = 1 < 2 < 2", False),
            ("x = 'b' in 'abc' and 2 not in [1]", True),
            ("x = 0 or '' or 'last'", "last"),
            ("x = not None is None", False),
            ("x = 'yes' if 1 > 2 else 'no'", "no"),
            ("x = 'abc'[1] + 'abc'[-1] + 'abcdef'[1:5:2]", "bcbd"),
            ("x = {'a': [1, 2]}['a'][1]", 2),
            ("x = [1, 2]\nx[0] = 5\nx[1] += 1", [5, 3]),
            ("x = {}\nx['k'] = 1\nx['k'] += 1", {"k": 2}),
            ("a = x = []\na += [1]\na += 'bc'\na *= 2", [1, "b", "c", 1, "b", "c"]),
            ("a = [0]\nx = [a, a]\nx[0] += {1: 2}", [[0, 1], [0, 1]]),
            ("x = a = (1,)\na += (2,)", (1,)),
            ("x = []\nx += x\nx += [1]\nx += x", [1, 1]),
            ("(a, [b, c]), d = (1, 'xy'), 4\nx = [a, b, c, d]", [1, "x", "y", 4]),
            (
                "x = 0\nfor i in range(5):\n  if i == 1: continue\n  if i == 4: break\n  x += i",
                5,
            ),
            ("x = 1\nwhile x < 50: x *= 2\nelse: x += 1", 65),
            ("x = 0\nfor i in [1]:\n    break\nelse:\n    x = 9", 0),
            ("x = [a + b for a in 'ab' for b in 'xy' if a + b != 'ay']", ["ax", "bx", "by"]),
            ("x = [1]\nfor i in x:\n    if i < 4: x.append(i + 1)", [1, 2, 3, 4]),
            ("i = 'kept'\nx = [i for i in [1]] + [i]", [1, "kept"]),
            ("x = any(t.startswith('b') for t in ['a', 'b'])", True),
            ("x = f'Tab #{1 + 1}'", "Tab #2"),
            ("x = ' A, b '.strip().lower().split(', ')", ["a", "b"]),
            ("x = '-'.join(sorted(['b', 'a'], reverse=True)).replace('-', '+')", "b+a"),
            ("x = 'a b c'.split(maxsplit=1) + 'd-e'.split(sep='-')", ["a", "b c", "d", "e"]),
            ("x = 'a\\nb'.splitlines(keepends=True)", ["a\n", "b"]),
            ("x = enumerate('a', start=1) + [round(1.26, ndigits=1)]", [(1, "a"), 1.3]),
            ("x = []\nx.append(3)\nx.extend([1, 2])\nx = [x.pop(), len(x)]", [2, 2]),
            ("x = [k + str(v) for k, v in {'a': 1}.items()]", ["a1"]),
            ("x = list(zip('ab', enumerate('c')))", [("a", (0, "c"))]),
            ("x = max(1, 5, 3) + min([4, 2]) + sum([1, 2]) + abs(-1) + int('7') + round(1.6)", 20),
            ("x = [str(n) for n in [round(2.5, 0), round(2.5), round(3, 0)]]", ["2.0", "2", "3"]),
            ("x = 'aaa'.replace('a', 'b', count=2) + 'aa'.replace('a', 'c', 1)", "bbaca"),
            ("print('a', 1, sep='', end='')\nx = 1", 1),
            ("print('nothing')\nx = reversed([1, 2])", [2, 1]),
            ("# only this\nx = 1; pass", 1),
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

    def test_an_entry_that_is_added_to_is_looked_up_once(self):
        called = []

        def click(name):
            called.append(name)
            return len(called)

        source = "x = {1: 5}\ny = [[0, 0, 0, 1]]\nx[click('a')] += click('b')\n"
        names = run(source + "y[click('c') - 3][click('d') - 1] *= click('e')", click=click)
        assert called == ["a", "b", "c", "d", "e"]
        assert names == {"x": {1: 7}, "y": [[0, 0, 0, 5]]}

    def test_nothing_is_run_of_a_program_that_is_not_in_the_language(self):
        called = []
        assert refuse("click(1)\nimport os", click=called.append) == (
            "line 2: Import can't be used here"
        )
        assert called == []

    def test_an_error_of_a_function_gets_its_line_and_others_pass_through(self):
        def click(error):
            raise {"ours": ProgramError("there is no Save"), "other": KeyboardInterrupt()}[error]

        assert refuse("x = 1\nclick('ours')", click=click) == "line 2: there is no Save"
        assert refuse("click(1, 2)", click=click) == "line 1: click() takes other arguments"
        with pytest.raises(KeyboardInterrupt):
            run("click('other')", click=click)


REFUSED = {
    # Ways out
    "().__class__": "line 1: Attribute can't be used here",
    "''.__class__.__mro__[1].__subclasses__()": "line 1: Attribute can't be used here",
    "click.__globals__['x']": "line 1: Attribute can't be used here",
    "'{0.__class__}'.format(1)": "line 1: str has no method .format()",
    "x = []\nx.lower()": "line 2: list has no method .lower()",
    "import os": "line 1: Import can't be used here",
    "__import__('os')": "line 1: there is no function __import__()",
    "eval('1')": "line 1: there is no function eval()",
    "__builtins__": "line 1: the name '__builtins__' has no value",
    "x = len": "line 1: len is a function: it can only be called",
    "click = 1": "line 1: click is a function: it can only be left as it is",
    "x = lambda: 1": "line 1: Lambda can't be used here",
    "[len][0]('x')": "line 1: only a function can be called by its name",
    "def f(): f()": "line 1: FunctionDef can't be used here",
    "class A: pass": "line 1: ClassDef can't be used here",
    "async def f(): 1": "line 1: AsyncFunctionDef can't be used here",
    "[a async for a in b]": "line 1: ** and async can't be used here",
    "print(*'ab')": "line 1: Starred can't be used here",
    "print(**{})": "line 1: ** and async can't be used here",
    "x = {1, 2}": "line 1: Set can't be used here",
    "x = {a: a for a in 'a'}": "line 1: DictComp can't be used here",
    "x = b'a'": "line 1: a value of the type bytes can't be used",
    "x = [1]\nx[0:1] = [2]": "line 2: this can't be given a value",
    "x = (1, 2)\nx[0] += 1": "line 2: this can't be done with tuple and int and int",
    "x = []\nx += 1": "line 2: this can't be done with list and int",
    "x = {}\nx['a'] += 1": "line 2: there is no such entry",
    # Mistakes
    "x": "line 1: the name 'x' has no value",
    "1 / 0": "line 1: this divides by zero",
    "{[]: 1}": "line 1: this can't be done with dict and list and int",
    "'a' + 1": "line 1: this can't be done with str and int",
    "for i in 5: pass": "line 1: this can't be done with int",
    "a, b = [1]": "line 1: 2 values were expected, not 1",
    "(1, 2)[0] = 1": "line 1: this can't be done with tuple and int and int",
    "1 is 1": "line 1: 'is' can only ask for None, True or False; use == instead",
    "','.join(5)": "line 1: this can't be done with str and int",
    "sorted([1, 'a'])": "line 1: this can't be done with list",
    "break": "line 1: break and continue belong in a loop",
    "click(": "this is no valid Python",
    "f'{f\"{1}\"}'": "this is no valid Python",
    "\x00": "this is no valid Python",
    " x = 1": "this is no valid Python",
    # Numbers and texts without end
    "10 ** 10 ** 10": "line 1: the number is too big",
    "2 ** 255 * 4": "line 1: the number is too big, or not a real one",
    "x = 2\nfor i in range(99): x *= x": "line 2: the number is too big, or not a real one",
    "1 << 10 ** 9": "line 1: LShift can't be used here",
    "0x" + "f" * 5000: "line 1: the number is too big",
    "9" * 5000: "this is no valid Python",
    "int('9' * 4000)": "line 1: the number is too big, or not a real one",
    "round(5, -10 ** 9)": "line 1: this can't be done with int and int",
    "2.0 ** 99999": "line 1: this can't be done with float and int",
    "int(1e300)": "line 1: the number is too big, or not a real one",
    "(-8) ** 0.5": "line 1: the number is too big, or not a real one",
    "'%999999999d' % 1": "line 1: str can't be formatted with %",
    "f'{1:>999999999}'": "line 1: a format in an f-string can't be used here",
    # Names that Python has not given to what its functions take, or that would not be paid for
    "x = 'a' * 30000\ny = x.join(parts=x)": "line 2: join() takes other arguments",
    "x = [1]\nfor i in range(24): x = [x, x]\ny = str(object=x)": (
        "line 3: str() takes other arguments"
    ),
    "sorted(values=[1])": "line 1: sorted() takes other arguments",
    "' '.split(' ', limit=1)": "line 1: split() takes other arguments",
    # Depth
    "(" * 5000: "this is no valid Python",
    "-" * 9000 + "1": "the program is nested too deep",
    "[" * 99 + "]" * 99: "the program is nested too deep",
    "x" + ".a" * 70: "line 1: Attribute can't be used here",
    "".join(f"{' ' * at}if 1:\n" for at in range(80)) + " " * 80 + "1": (
        "the program is nested too deep"
    ),
    "if 1: 1\n" + "elif 1: 1\n" * 200: "the program is nested too deep",
    "[1 " + "for a in 'a' " * 500 + "]": "the program is nested too deep",
    "x = 1\n" * MAX_SOURCE: f"the program has 60000 characters; {MAX_SOURCE} are allowed",
}


@pytest.mark.parametrize("source", REFUSED, ids=lambda source: ascii(source[:40]))
def test_a_program_is_refused_with_our_own_message(source):
    assert refuse(source, click=lambda: None) == REFUSED[source]


TOO_MUCH = [
    "while True: pass",
    "x = list(range(10 ** 9))",
    "[a for a in range(10 ** 5) for b in range(10 ** 5)]",
    "x = 'a' * 10 ** 9",
    "x = 10 ** 9 * [0]",
    "x = 'a'\nwhile 1: x += x",
    "x = [0]\nwhile 1: x += x",
    "x = [0]\nfor i in x: x += [i]",
    "d = {}\nfor i in range(5000): d[i] = i\nx = []\nwhile 1: x += d",
    "x = [[0] * 1000]\nwhile 1: x = [x[0] * 2]",
    "x = (0,)\nfor i in range(50): x = (x, x)\ny = {x: 1}",
    "x = (0,)\nfor i in range(50): x = (x, x)\ny = x == x",
    "x = [0]\nfor i in range(50): x = [x, x]\ny = str(x)",
    "x = 'a' * 999\nfor i in '12': x = x.replace('a', x)",
    "x = 'a' * 999\nfor i in '12': x = x.join(x)",
    "x = 'a' * 9999\nwhile 1: y = 'b' in x",
    "x = list(range(9999))\nwhile 1: y = sorted(x)",
    "x = {}\ni = 0\nwhile 1:\n    x[i] = 'a' * 999\n    i += 1",
    "while 1: objects()",
]


class TestBounds:
    @pytest.mark.parametrize("source", TOO_MUCH)
    def test_a_program_that_does_too_much_is_stopped(self, source):
        reason = refuse(source, objects=lambda: [{"text": "x"}])
        assert reason.endswith("the program does too much: too many steps, or too large values")

    def test_work_is_counted_and_not_timed(self):
        """A loop gets as far with ten times the work as ten loops do, to the round."""

        def rounds(work):
            count = []
            with pytest.raises(ProgramError):
                interpret("while 1: tick()", {"tick": lambda: count.append(1)}, work=work)
            return len(count)

        assert rounds(10_000) == rounds(10_000)
        assert 90 <= rounds(CALL_WORK * 100) <= 100
        assert rounds(100_000) == pytest.approx(10 * rounds(10_000), abs=10)

    def test_a_value_that_costs_too_much_is_never_made(self):
        """A text is doubled only while the work that is left pays for the result."""
        sizes = []
        source = "x = 'a'\nwhile 1:\n    note(len(x))\n    x = x + x"
        with pytest.raises(ProgramError):
            interpret(source, {"note": sizes.append})
        assert sizes == [2**at for at in range(len(sizes))]
        assert sum(sizes) < MAX_WORK

    def test_a_list_that_contains_itself_is_refused(self):
        for use in ("x == x", "str(x)", "x in x", "sorted(x)", "x * 2", "show(x)"):
            assert refuse(f"x = []\nx.append(x)\n{use}", show=lambda value: None) == (
                "line 3: a list is nested too deep"
            )

    def test_a_function_may_return_plain_data_only(self):
        assert refuse("x = give()", give=lambda: {1}) == (
            "line 1: a value of the type set can't be used here"
        )
        assert refuse("x = give()", give=lambda: [object()]) == (
            "line 1: a value of the type object can't be used here"
        )

    def test_the_deepest_program_that_is_allowed_fits_the_stack(self):
        deepest = next(
            depth
            for depth in range(MAX_NESTING, 0, -1)
            if not isinstance(outcome("x = " + "[" * depth + "]" * depth), str)
        )
        assert deepest > 40


def outcome(source):
    """The variables of a program at its end, or its error."""
    calls = []

    def click(kind, name="", nth=1):
        calls.append((kind, name, nth))

    try:
        names = interpret(source, {"click": click, "objects": lambda: [{"tag": "a"}]}, work=20_000)
    except ProgramError as error:
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
METHODS = st.sampled_from([
    "append", "extend", "pop", "join", "split", "replace", "lower", "items", "format", "__len__",
    "index", "count", "strip",
])  # fmt: skip
FUNCTIONS = st.sampled_from([
    "len", "range", "sorted", "sum", "max", "min", "str", "int", "list", "dict", "zip", "enumerate",
    "round", "click", "print", "f",
])  # fmt: skip


def compound(inner):
    return st.one_of(
        st.tuples(inner, OPERATORS, inner).map(lambda t: f"({t[0]} {t[1]} {t[2]})"),
        st.lists(inner, max_size=3).map(lambda many: f"[{', '.join(many)}]"),
        st.lists(inner, max_size=3).map(lambda many: f"({', '.join(many)},)" if many else "()"),
        st.tuples(inner, inner).map(lambda t: f"{{{t[0]}: {t[1]}}}"),
        st.tuples(inner, inner).map(lambda t: f"{t[0]}[{t[1]}]"),
        st.tuples(inner, inner, inner).map(lambda t: f"{t[0]}[{t[1]}:{t[2]}]"),
        st.tuples(inner, METHODS, inner).map(lambda t: f"{t[0]}.{t[1]}({t[2]})"),
        st.tuples(inner, METHODS, inner, inner).map(lambda t: f"{t[0]}.{t[1]}({t[2]}, {t[3]})"),
        st.tuples(FUNCTIONS, st.lists(inner, max_size=3)).map(
            lambda t: f"{t[0]}({', '.join(t[1])})"
        ),
        st.tuples(inner, NAMES, inner, inner).map(
            lambda t: f"[{t[0]} for {t[1]} in {t[2]} if {t[3]}]"
        ),
        inner.map(lambda one: f"f'{{{one}}}'"),
        inner.map(lambda one: f"-{one}"),
    )


EXPRESSIONS = st.recursive(ATOMS, compound, max_leaves=12)
SIMPLE = st.one_of(
    EXPRESSIONS,
    st.tuples(NAMES, st.sampled_from(["=", "+=", "*=", "**="]), EXPRESSIONS).map(" ".join),
    st.tuples(NAMES, EXPRESSIONS, EXPRESSIONS).map(lambda t: f"{t[0]}[{t[1]}] = {t[2]}"),
    st.tuples(NAMES, NAMES, EXPRESSIONS).map(lambda t: f"{t[0]}, {t[1]} = {t[2]}"),
    st.sampled_from(["break", "continue", "pass", "del x", "import os", "return"]),
)


def blocks(inner):
    def indented(lines):
        return "\n".join(f"    {line}" for one in lines for line in one.split("\n")) or "    pass"

    body = st.lists(inner, max_size=3).map(indented)
    return st.one_of(
        st.tuples(EXPRESSIONS, body, body).map(lambda t: f"if {t[0]}:\n{t[1]}\nelse:\n{t[2]}"),
        st.tuples(EXPRESSIONS, body).map(lambda t: f"while {t[0]}:\n{t[1]}"),
        st.tuples(NAMES, EXPRESSIONS, body).map(lambda t: f"for {t[0]} in {t[1]}:\n{t[2]}"),
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
        exec(compile(source, "program", "exec"), scope)
    theirs = {name: scope[name] for name in ours}
    assert _comparable(ours) == _comparable(theirs)


class TestAnyProgram:
    """Generated programs end within their bounds, or with a `ProgramError`."""

    @settings(max_examples=50, deadline=None)
    @given(PROGRAMS)
    @example("x = y = [1]\nx += y\nfor i in x: x.pop()")
    @example("x = sorted([], [])")
    @example("if 1:\n  x = 1\nelse:\n  break")
    @example("if 1:\n  x = 1\nelse:\n  0[0]")
    def test_a_program_leaves_the_values_that_python_leaves(self, source):
        compare_with_python(source)

    @pytest.mark.sweep
    @settings(max_examples=1000, deadline=None)
    @given(PROGRAMS)
    def test_many_programs_leave_the_values_that_python_leaves(self, source):
        compare_with_python(source)

    @settings(max_examples=100, deadline=None)
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
