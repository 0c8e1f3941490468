"""The words for how GPUs are divided: on screens, and read back from what somebody typed."""

from typing import get_args

import pytest

from sliceplan.solver.model.sharing import Sharing
from sliceplan.solver.wording.sharing_words import (
    SHARING_WORDS,
    names_for_words,
    sharing_in_prose,
    sharing_in_words,
    words_for_names,
)


def test_every_way_has_words_that_are_read_back():
    ways = get_args(Sharing)
    assert set(SHARING_WORDS) == set(ways)
    assert names_for_words(sharing_in_words(ways)) == ", ".join(ways)


def test_prose_joins_ways_as_a_sentence_does():
    assert sharing_in_prose(["mps"]) == "MPS"
    assert sharing_in_prose(("mig", "exclusive")) == "MIG and whole GPUs"
    assert sharing_in_prose(("mig", "mps", "exclusive")) == "MIG, MPS and whole GPUs"


@pytest.mark.parametrize(
    ("typed", "words", "names"),
    [
        ("mig, mps", "MIG, MPS", "mig, mps"),
        ("Whole gpu,MIG", "whole GPU, MIG", "exclusive,mig"),
        ("cpu cores", "CPU cores", "cores"),
        ("cores", "CPU cores", "cores"),
        ("halves, mig", "halves, MIG", "halves, mig"),
    ],
)
def test_either_spelling_is_understood_and_what_is_unknown_stays(typed, words, names):
    assert words_for_names(typed) == words
    assert names_for_words(typed) == names
