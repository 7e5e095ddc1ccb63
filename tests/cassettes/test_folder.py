"""Names of cassettes: one for each agent, model and task, on every file system."""

import itertools
import re

from pytest_miniwob_agent import Case
from pytest_miniwob_agent.cassettes.folder import model_folder, stem

CASE = Case("click-menu-2", "n-screen-n-step", 3)


def name(model):
    return stem(model_folder("a", model), CASE).split("/")[1]


def test_a_plain_name_stays_as_it_is():
    for plain in ("gpt-4.1-mini", "claude", "llama3.1_8b", "x" * 120, "a"):
        assert name(plain) == plain


HARD = (
    "vendor/x:free", "vendor/x/free", "vendor_x_free!", "GPT-4", "gpt-4 ", "Gpt-4",
    "x.", "x..", ".", "..", "", ".hidden", "-x", "x" * 121, "x" * 122,
    "/" * 300, "é", "e\u0301", "\U0001f600", "a\nb", "~", "a~b",
)  # fmt: skip


def test_names_are_injective_and_safe_on_every_file_system():
    names = {model: name(model) for model in HARD}
    for one, other in itertools.combinations(HARD, 2):
        assert names[one].casefold() != names[other].casefold(), (one, other)
    for model, found in names.items():
        assert re.fullmatch(r"[a-z0-9_-]{1,60}~[0-9a-f]{12}", found), model


def test_the_perturbation_of_a_task_is_in_its_folder():
    assert stem("a/m", Case("shop~overlay", "c", 3)) == "a/m/shop~overlay/3"


def test_a_repeat_and_every_part_is_in_the_stem():
    assert stem("a/m", Case("t", "c", 3, repeat=2)) == "a/m/t/3-2"
    folder = model_folder("pkg:Agent", "v/m")
    agent, model, task, sample = stem(folder, Case("flight.AA", "c", 3)).split("/")
    assert (agent[:10], model[:4], task[:10], sample) == ("pkg_agent~", "v_m~", "flight_aa~", "3")
