"""`miniwob-agent judges`: a judge's verdicts beside the labels of people."""

import pytest

from pytest_miniwob_agent.cli import main

HEADING = "item,label,verdict\n"


@pytest.fixture
def judges(tmp_path, capsys):
    """Run the command on a file with a content, and return its status, output and errors."""

    def judges(content):
        path = tmp_path / "labels.csv"
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        status = main(["judges", str(path)])
        output = capsys.readouterr()
        return status, output.out, output.err.replace(str(path), "labels.csv")

    return judges


def test_agreement_kappa_table_and_the_items_to_look_at(judges):
    rows = [f"right-{n},yes,pass," for n in range(5)] + [f"wrong-{n},no,0," for n in range(3)]
    long = "the last screen says that the objects were deleted, but no sentence names their number"
    rows += ["too-hard,true,FALSE,", f'too-kind,failed,passed,"{long}"']
    status, output, _ = judges("item,label,verdict,reason\n" + "\n".join(rows))
    assert status == 0
    assert output == (
        "agreement  80 % (8 of 10 items), 44.4 to 97.5 %\n"
        "kappa      0.58, -0.02 to 0.92\n"
        "Intervals at 95 %. Kappa is the agreement beyond chance.\n"
        "\n"
        "            verdict pass  verdict fail\n"
        "label pass             5             1\n"
        "label fail             1             3\n"
        "\n"
        "1 item passed, but failed by people\n"
        "  too-kind: the last screen says that the objects were deleted, but no sentence\n"
        "    names their number\n"
        "\n"
        "1 item failed, but passed by people\n"
        "  too-hard\n"
    )


@pytest.mark.parametrize(("word", "verb"), [("yes", "pass"), ("no", "fail")])
def test_kappa_is_undefined_if_all_items_have_one_answer(judges, word, verb):
    status, output, _ = judges(f"{HEADING}a,{word},{word}\nb,{word},{word}\n")
    assert status == 0
    assert f"kappa      undefined: people and judge {verb} all items\n" in output


def test_an_interval_that_begins_at_zero_says_so(judges):
    _, output, _ = judges(f"{HEADING}a,yes,no\n")
    assert output.startswith("agreement  0 % (0 of 1 item), 0 to 97.5 %\n")


def test_a_file_of_a_spreadsheet_with_other_columns_is_read(judges):
    status, output, _ = judges(
        b"\xef\xbb\xbfverdict,who,item,label\r\nno,Ann,a,no\r\nyes,,b,yes\r\n"
    )
    assert status == 0
    assert "(2 of 2 items)" in output


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "labels.csv: no column item: the first line must name the columns item, label, verd"),
        ("item,lable,verdict\n", "labels.csv: no column label (did you mean lable?)"),
        (HEADING, "labels.csv has no items: add a line for each item"),
        (HEADING + "a,yes,yes\na,no,no\n", "labels.csv, line 3: a is in line 2 too: keep one"),
        (HEADING + ",yes,yes\n", "labels.csv, line 2: the item has no id"),
        (HEADING + "a,maybe,yes\n", "labels.csv, line 2: the label is maybe, and must be one of"),
        (HEADING + "a,yes\n", "labels.csv, line 2: the verdict is empty, and must be one of yes"),
        (b"item,label,verdict\n\xff,yes,yes\n", "labels.csv is no CSV file in UTF-8"),
        (HEADING + '"a,yes,yes\n', "labels.csv is no CSV file in UTF-8: unexpected end of data"),
    ],
)
def test_a_file_that_cannot_be_read_is_an_error_with_its_line(judges, content, message):
    status, output, errors = judges(content)
    assert (status, output) == (2, "")
    assert message in errors
