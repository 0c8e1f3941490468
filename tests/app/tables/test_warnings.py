"""Warnings of a plan are counted by what they are about."""

from sliceplan.app.tables.warnings import WORDS, warnings_in_words
from sliceplan.solver.metrics.caveats import CaveatKind


def test_warnings_are_counted_by_kind_the_gravest_first():
    kinds = [None, *[CaveatKind.EXTRAPOLATED] * 60, CaveatKind.ESTIMATED]
    assert warnings_in_words(kinds) == (
        "1 estimate from another GPU type, 60 figures beyond what was measured, 1 other note"
    )
    assert warnings_in_words([]) == ""


def test_every_kind_has_words():
    assert set(WORDS) == {*CaveatKind, None}
