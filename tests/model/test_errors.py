"""What findings look like."""

import pytest

from sliceplan.solver.model.errors import Finding


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("gpus[0].\x1b[2J", r"gpus[0].\x1b[2J"),
        ("a\nb: is fine", r"a\nb: is fine"),
        ("\ud800", r"\ud800"),
        ("\u202etxt", r"\u202etxt"),
        ("größe", "größe"),
        ("a" * 1000, "a" * 200 + "..."),
    ],
)
def test_names_from_a_file_cannot_play_tricks_on_a_terminal(path, shown):
    assert str(Finding("f.json", path, "is wrong")) == f"f.json: {shown} is wrong"


def test_a_message_keeps_its_lines():
    assert str(Finding("f.json", "", "is wrong\nin two ways")) == "f.json: is wrong\nin two ways"
