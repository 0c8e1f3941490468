"""Which known names an unknown one is answered with."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.parsing import MOST_MEANT, closest


@pytest.mark.parametrize(
    ("written", "known", "hint"),
    [
        ("A100", ("A10", "A100-40GB", "A100-80GB"), "Did you mean 'A100-40GB' or 'A100-80GB'?"),
        ("a100", ("A10", "A100-40GB", "A100-80GB"), "Did you mean 'A100-40GB' or 'A100-80GB'?"),
        ("A100-8", ("A10", "A100-40GB", "A100-80GB"), "Did you mean 'A100-80GB'?"),
        ("A100-8GB", ("A10", "A100-40GB", "A100-80GB"), "Did you mean 'A100-80GB'?"),
        ("rate", ("name", "rate_rps"), "Did you mean 'rate_rps'?"),
        ("s", ("s1", "s2", "s3", "s4"), "Did you mean 's1', 's2' or 's3'?"),
        ("", ("a", "b"), "Known: a, b."),
        ("zzz", ("a", "b"), "Known: a, b."),
        ("a", (), "None is known."),
    ],
)
def test_names_that_begin_with_what_was_written_come_before_those_that_are_near_by_letters(written, known, hint):
    assert closest(written, known) == hint


def test_a_gpu_without_its_memory_is_answered_with_the_boards_that_there_are():
    assert closest("A100", load_catalogue()) == "Did you mean 'A100-40GB' or 'A100-80GB'?"


@given(st.lists(st.text("abAB", min_size=1, max_size=4), unique=True, max_size=8), st.text("abAB", max_size=3))
def test_all_names_offered_are_known_and_those_that_begin_so_are_not_left_for_others(known, written):
    """Property: where some begin with what was written, what is offered is the first of them, and nothing else."""
    hint = closest(written, known)
    begin = [name for name in known if written and name[: len(written)].upper() == written.upper()]
    if begin:
        offered = hint.split("'")[1::2]
        assert len(offered) == min(len(begin), MOST_MEANT)
        assert set(offered) <= set(begin)
        assert max(map(len, offered)) <= min((len(name) for name in begin if name not in offered), default=4)
    elif hint.startswith("Did you mean"):
        assert hint.split("'")[1] in known
