"""`miniwob-agent doctor`: each check, and the whole command."""

import re
import subprocess
import sys

import pytest

from pytest_miniwob_agent.browser.process import BOUNDARY_EVENTS, Browser
from pytest_miniwob_agent.cli import doctor
from pytest_miniwob_agent.plugin.inner import collect

LAUNCHING = """
def pytest_miniwob_launcher(config):
    from pytest_miniwob_agent import LocalLauncher

    return LocalLauncher("/no/chromium")

def pytest_miniwob_checks(config):
    from pytest_miniwob_agent import Check

    broken = config.getoption("miniwob_model") == "broken"
    return [Check("fleet", "gone", "find it") if broken else Check("fleet", "3 browsers")]
"""


def lines(*checks):
    return "".join(f"{check}\n" for check in checks)


@pytest.mark.integration
class TestCommand:
    def test_a_project_without_problems(self, recorded, call, monkeypatch):
        monkeypatch.setenv("OPENAI_API_KEY", "sk-" + "secret" * 5)
        status, out, err = call("doctor", "--", "-k", "click-menu-2/1")
        assert (status, err) == (0, "")
        assert "secret" not in out
        *findings, end = out.splitlines()
        assert all(line.startswith("ok ") for line in findings)
        assert end == "nothing to fix"
        for expected in (
            "Python +3.", "pytest-miniwob-agent +0.", "pytest +9.", "selenium +4.", "openai +3.",
            "vcrpy +9.", "lxml +6.", "miniwob +1.", "pytest-xdist +3.",
            "Chromium +[1-9].*, (the headless shell|as )",
            "chromedriver +[1-9]", "page +click-button loads, [1-9]", "font +Roboto for all text",
            "clicks +land",
            "cassettes +1 of 1 recorded in cass",
            "OPENAI_API_KEY +is set",
        ):  # fmt: skip
            assert re.search(f"^ok +{expected}", out, re.M), expected

    def test_problems_are_counted_and_exit_with_1(self, project, call):
        with (project.path / "tox.ini").open("a") as file:
            file.write("\nminiwob_key_variable = MY_KEY\nminiwob_browser = /no/chromium\n")
        status, out, _ = call("doctor")
        assert status == 1
        assert "\nWRONG Chromium              no browser at '/no/chromium'" in out
        assert "\nWRONG chromedriver" not in out
        assert re.search(
            "^WRONG cassettes +0 of 12 recorded in cassettes; missing: .* and 11 more\n"
            " +-> pytest --miniwob-record=new_episodes records them\n",
            out,
            re.M,
        )
        assert "\nnote  MY_KEY  " in out
        assert out.endswith("\n2 to fix\n")

    def test_plugins_launch_the_browser_and_add_checks(self, project, call):
        with (project.path / "conftest.py").open("a") as file:
            file.write(LAUNCHING)
        status, out, _ = call("doctor")
        assert status == 1
        assert "Chromium  " not in out
        assert (
            "\nok    fleet                 3 browsers\nWRONG page                  no browser"
            in out
        )
        assert "'/no/chromium'" in out
        status, out, _ = call("doctor", "--", "--miniwob-model=broken")
        assert "\nWRONG fleet                 gone\n                            -> find it\n" in out
        assert "page  " not in out

    def test_notes_are_not_problems_and_a_project_is_not_needed(self, call, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(doctor, "check_browser", lambda path: ())
        status, out, _ = call("doctor")
        assert status == 0
        assert "\nnote  items                 no item collected here uses a cassette\n" in out
        assert out.endswith("\nnothing to fix\n")


@pytest.mark.integration
class TestBrowser:
    def test_a_driver_of_another_version_is_a_problem(self, tmp_path, monkeypatch):
        driver = tmp_path / "chromedriver"
        driver.write_text('#!/bin/sh\necho ChromeDriver 99.0.1\n[ "$1" = --version ]\n')
        driver.chmod(0o755)
        monkeypatch.setenv("SE_CHROMEDRIVER", str(driver))
        out = lines(*doctor.check_browser(None))
        assert f"\nWRONG chromedriver          99.0.1 ({driver})\n" in out
        assert re.search(r"-> install the one of Chromium.s version, [1-9][\d.]+: on Debian", out)
        assert re.search(r"^WRONG page +.* did not start: ", out, re.M)

    def test_without_a_driver_no_page_is_checked(self, browser_without, monkeypatch):
        browser = browser_without("no such switch")
        monkeypatch.setenv("PATH", "/no/such/folder")
        *_, finding = doctor.check_browser(browser)
        assert re.search(
            "^WRONG chromedriver +no chromedriver found beside .* or on PATH\n"
            " +-> install it, on Debian and Ubuntu with `apt-get install chromium-driver`",
            lines(finding),
        )

    def test_a_browser_that_sends_boundary_events_without_end_is_noted(self, browser_without):
        out = lines(*doctor.check_page(Browser(browser_without(BOUNDARY_EVENTS))))
        assert re.search(
            "^note  clicks +land, except on elements that insert themselves again, .* click-pie\n"
            " +-> choose a browser that can switch BoundaryEventDispatchTracksNodeRemoval off",
            out, re.M,
        )  # fmt: skip

    def test_another_font_is_a_problem(self, tmp_path):
        """In a process of its own: this one has found the fonts already."""
        files = tmp_path / "font_roboto" / "files"
        files.mkdir(parents=True)
        files.parent.joinpath("__init__.py").touch()
        files.joinpath("Roboto-Regular.ttf").write_bytes(b"no font")
        script = (
            "from pytest_miniwob_agent.cli.doctor import *\n"
            "from pytest_miniwob_agent.browser.process import Browser\n"
            "print(*check_page(Browser()), sep='\\n')"
        )
        result = subprocess.run(
            [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True
        )
        assert re.search(r"^WRONG font +Noto Sans for all text\n", result.stdout, re.M)
        assert "pip install --force-reinstall font-roboto" in result.stdout


class TestCassettes:
    def test_tests_that_can_not_be_collected_are_a_problem(self, project, monkeypatch):
        monkeypatch.chdir(project.path)
        project.makepyfile(test_broken="import nothing_of_that_name")
        out = lines(*doctor.check_cassettes(collect([])))
        assert re.search("^WRONG items +pytest can't collect the items", out, re.M)


def test_a_missing_key_is_a_note_and_one_that_is_there_is_not_shown(monkeypatch):
    assert str(doctor.check_key()).startswith(
        "note  OPENAI_API_KEY        is not set, and only recording needs it\n"
    )
    monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
    assert str(doctor.check_key()) == "ok    OPENAI_API_KEY        is set"


def test_a_package_of_another_version_is_a_problem(monkeypatch):
    versions = {"selenium": "3.0"}
    version = doctor.metadata.version

    def find(name):
        if name == "lxml":
            raise doctor.metadata.PackageNotFoundError(name)
        return versions.get(name) or version(name)

    monkeypatch.setattr(doctor.metadata, "version", find)
    out = lines(*doctor.check_versions())
    assert re.search(
        r"^WRONG selenium +3.0, >=4.* is required\n +-> pip install 'selenium", out, re.M
    )
    assert re.search(
        r"^WRONG lxml +not installed, .* is required\n +-> pip install 'lxml", out, re.M
    )
    assert re.search("^ok +pytest ", out, re.M)
