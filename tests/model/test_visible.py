"""Joiners stay where scripts need them, nothing else that cannot be seen does, and what looks alike is told to."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems.shop import shop

from sliceplan.app.tables.names import seen
from sliceplan.solver.formats.problem_files import dump_problem, parse_problem, problem_from
from sliceplan.solver.model.errors import InputError, printable
from sliceplan.solver.model.visible import look, unseen, without_unseen

PERSIAN, HINDI, FAMILY, HEART = "می\u200cخواهم", "क्\u200dष", "👨\u200d👩\u200d👧", "❤\ufe0f\u200d🔥"
NEEDED = (PERSIAN, HINDI, FAMILY, HEART, f"{PERSIAN} {FAMILY}")

TEXTS = st.text(
    st.sampled_from("ab é\u0301\u200c\u200d\u200b\u202e\u00ad\ufeffی👩\n\u3000") | st.characters(), max_size=12
)


def labelled(*labels):
    data = shop().model_dump(mode="json")
    for workload, label in zip(data["workloads"], labels, strict=False):
        workload["label"] = label
    return problem_from(data, "shop.yaml")


@pytest.mark.parametrize("text", NEEDED)
def test_texts_that_need_joiners_keep_them(text):
    assert unseen(text) == []
    assert seen(text) == printable(text) == text
    problem = labelled(text)
    assert problem.workloads[0].label == text
    assert parse_problem(dump_problem(problem), "shop.yaml") == problem


@pytest.mark.parametrize(
    ("written", "kept"),
    [
        ("\u200cab\u200d", "ab"),
        ("a\u200d b", "a b"),
        ("a \u200c b", "a b"),
        ("می\u200c\u200cخواهم", PERSIAN),
        ("a\u200c\u202e\u200db", "a\u200cb"),
        ("a\u200bb\u2060c\ufeff", "abc"),
        ("\u200c", ""),
        ("e\u202e\u0301", "é"),
    ],
)
def test_what_is_pasted_keeps_one_joiner_between_signs_that_are_seen(written, kept):
    assert seen(written) == kept


def visible(sign):
    """The rule again, from Unicode's categories: others and separators are not seen."""
    return unicodedata.category(sign)[0] not in "CZ"


@given(TEXTS)
def test_what_is_kept_can_be_seen_and_stays(text):
    """Property: the oracle looks at each sign and its neighbours by category; what is seen is kept in its order."""
    kept = without_unseen(text)
    assert without_unseen(kept) == kept
    assert seen(seen(text)) == seen(text)
    assert [sign for sign in kept if visible(sign) or sign == " "] == [s for s in text if visible(s) or s == " "]
    hidden = [i for i, sign in enumerate(kept) if not visible(sign) and sign != " "]
    for i in hidden:
        assert kept[i] in "\u200c\u200d"
        assert 0 < i < len(kept) - 1
        assert visible(kept[i - 1])
        assert visible(kept[i + 1])
    assert unseen(kept) == []
    assert (kept == text) == (unseen(text) == [])


@given(TEXTS)
def test_texts_for_terminals_hide_nothing(text):
    """Property: what is printed has no sign that the rule does not allow, and allowed texts are printed as they are."""
    assert unseen(printable(text)) == []
    assert printable(without_unseen(text)) == without_unseen(text)


def test_labels_that_differ_in_joiners_alone_look_alike_and_are_refused():
    with pytest.raises(InputError, match=r"look alike: میخواهم; they differ in joiners \(U\+200C, U\+200D\) alone"):
        labelled(PERSIAN, look(PERSIAN))
    with pytest.raises(InputError, match="look alike"):
        labelled("my\u200cshop", "my\u200dshop")
    other = shop().workloads[1].name
    with pytest.raises(InputError, match="names of others"):
        labelled(f"{other[:2]}\u200c{other[2:]}")
    own = shop().workloads[0].name
    assert labelled(f"{own[:2]}\u200c{own[2:]}").workloads[0].name == own
    assert labelled(PERSIAN, HINDI, FAMILY, HEART).labels


@given(TEXTS)
def test_the_look_has_no_joiners_and_all_else(text):
    assert look(text) == text.replace("\u200c", "").replace("\u200d", "")
