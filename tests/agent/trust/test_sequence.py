"""Which release may follow the newest one, by number, content and date alone."""

from datetime import timedelta
from types import SimpleNamespace

import pytest

from sliceplan.agent.trust.sequence import refuse_older, refuse_unless_it_follows
from sliceplan.solver.model.errors import InputError

from ..conftest import NOW

NEWEST = SimpleNamespace(sequence=5, sha256="5" * 64)
OTHER = "6" * 64


def said(rule, *given):
    """Returns what a rule refuses with; None: it does not."""
    try:
        rule(*given, "x.json")
    except InputError as error:
        return str(error)
    return None


@pytest.mark.parametrize(
    ("sequence", "sha256", "newest", "words"),
    [
        (6, OTHER, NEWEST, None),
        (6, NEWEST.sha256, NEWEST, None),
        (5, NEWEST.sha256, NEWEST, None),
        (5, OTHER, NEWEST, "its content differs"),
        (4, NEWEST.sha256, NEWEST, "expected more than 5"),
        (4, OTHER, NEWEST, "expected more than 5"),
        (1, OTHER, None, None),
    ],
)
def test_a_release_follows_by_its_number_or_is_the_same_bit_for_bit(sequence, sha256, newest, words):
    release = SimpleNamespace(sequence=sequence, expires_at=None)
    for found in (
        said(refuse_older, release, sha256, newest),
        said(refuse_unless_it_follows, release, sha256, newest, NOW),
    ):
        assert (found is None) == (words is None)
        assert words is None or words in found


@pytest.mark.parametrize(
    ("sequence", "sha256", "left_s", "refused"),
    [(6, OTHER, 1, False), (6, OTHER, 0, True), (6, OTHER, -1, True), (5, NEWEST.sha256, -1, False)],
)
def test_a_release_that_expired_is_taken_only_where_it_runs_already(sequence, sha256, left_s, refused):
    release = SimpleNamespace(sequence=sequence, expires_at=NOW + timedelta(seconds=left_s))
    found = said(refuse_unless_it_follows, release, sha256, NEWEST, NOW)
    assert (found is not None) == refused
    assert not refused or "which is past; sign it again" in found
