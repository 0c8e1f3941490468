"""What commands say, and how it is broken into lines."""

import io
import json
import sys
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace

import pytest
from rich.console import Console

from sliceplan.solver.commands.output import (
    MOST_LINES,
    display,
    say,
    say_few,
    say_notes,
    spinner,
    two_columns,
    write_json,
)

STDOUT = Path("-")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def colours(monkeypatch):
    """Has rich take every stream for a terminal with colours."""
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.delenv("NO_COLOR", raising=False)


@pytest.mark.usefixtures("colours")
def test_a_text_is_shown_as_it_stands_on_the_stream_that_is_asked_for(capsys):
    text = "[bold]12[/bold] :smile: 'a' " + "long " * 40
    display(text)
    display("\x1b[31m", stderr=True)
    assert capsys.readouterr() == (f"{text}\n", "\\x1b[31m\n")


@pytest.mark.usefixtures("colours")
def test_a_table_keeps_its_own_colours(capsys):
    display(two_columns({"a": "b"}))
    assert "\x1b[1ma\x1b[0m" in capsys.readouterr().out


def test_names_and_what_is_said_of_them_stand_in_two_columns_without_a_frame(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "20")
    display(two_columns({"a": "what is said of it", "two words": "b"}))
    lines = [line.rstrip() for line in capsys.readouterr().out.splitlines()]
    assert lines == ["a          what is", "           said of", "           it", "two words  b"]


def test_json_has_a_line_a_value_every_letter_and_labels_where_there_are_some(capsys, tmp_path):
    write_json({"workload": "a", "of": "ü"}, STDOUT)
    assert capsys.readouterr().out == '{\n "workload": "a",\n "of": "ü"\n}\n'
    write_json({"workload": "a"}, tmp_path / "a.json", {"a": "Shop"})
    assert json.loads((tmp_path / "a.json").read_text()) == {"workload": "a", "label": "Shop"}
    assert capsys.readouterr().out == ""


def test_a_terminal_gets_lines_of_its_width_that_are_broken_between_words(monkeypatch):
    monkeypatch.setenv("COLUMNS", "16")
    monkeypatch.setattr(sys, "stderr", Terminal())
    say("a two-part word of\n  some-word that stays\na word-longer-than-a-line")
    assert sys.stderr.getvalue().splitlines() == [
        "a two-part word",
        "  of",
        "  some-word that",
        "    stays",
        "a",
        "  word-longer-than-a-line",
    ]


def test_what_is_no_terminal_gets_lines_as_they_are_and_nothing_that_steers_one(capsys, monkeypatch):
    monkeypatch.setenv("COLUMNS", "16")
    say("a two-part word of\n  a sentence\x1b")
    assert capsys.readouterr() == ("", "a two-part word of\n  a sentence\\x1b\n")


def test_notes_are_lines_of_80_characters_that_are_broken_between_words(capsys):
    say_notes([f"{'x' * 40} {'y' * 33}", f"{'x' * 40} {'y' * 34}", f"{'x' * 68} two-part", "x" * 90])
    assert capsys.readouterr().err.splitlines() == [
        f"note: {'x' * 40} {'y' * 33}",
        f"note: {'x' * 40}",
        f"  {'y' * 34}",
        f"note: {'x' * 68}",
        "  two-part",
        "note:",
        f"  {'x' * 90}",
    ]


@pytest.mark.parametrize("more", [0, 1, 5])
def test_of_a_long_list_the_first_lines_are_said_and_the_rest_is_counted(capsys, more):
    say_few([f"line {i}" for i in range(MOST_LINES + more)])
    first = [f"  line {i}" for i in range(MOST_LINES)]
    assert capsys.readouterr().err.splitlines() == first + [f"  … and {more} more in the plan"] * bool(more)


@pytest.mark.parametrize("terminal", [True, False])
def test_what_goes_on_is_shown_on_a_terminal_and_nowhere_else(monkeypatch, terminal):
    shown, streams = [], []

    @contextmanager
    def status(console, text):
        streams.append(console.stderr)
        shown.append(text.plain)
        yield SimpleNamespace(update=lambda other: shown.append(other.plain))

    monkeypatch.setattr(Console, "status", status)
    monkeypatch.setattr(Console, "is_terminal", terminal)
    with spinner("planning\x1b") as update:
        update("so far: [bold]")
    assert (shown, streams) == ((["planning\\x1b", "so far: [bold]"], [True]) if terminal else ([], []))
