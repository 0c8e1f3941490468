"""Links carry a what-if whole, and hostile ones open nothing."""

import base64
import json
import zlib
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from problems.instances import problem_of, problems, random_problem

from sliceplan.app.session.deep_link import opened_session
from sliceplan.app.session.links import CHANGES, MOST_CHARACTERS, PROBLEM, SAVED, Link, TooLongError, link_of, query_of
from sliceplan.app.store.errors import StoreError
from sliceplan.app.store.problems import save_new_problem
from sliceplan.app.store.records import VersionKey
from sliceplan.app.store.shared import shared_store
from sliceplan.solver.formats.problem_files import example_problems
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.what_if import WhatIf

ONE = problem_of([{"model": "vgg16", "rate_rps": 100, "slo_ms": 200}])

names = st.from_regex(r"[A-Za-z0-9]([A-Za-z0-9._-]{0,20}[A-Za-z0-9])?", fullmatch=True)
amounts = st.floats(1e-3, 1e4)
what_ifs = st.builds(
    WhatIf,
    rate=amounts,
    slo=amounts,
    headroom=st.none() | st.floats(0, 100),
    rates=st.dictionaries(names, amounts, max_size=4),
    slos=st.dictionaries(names, amounts, max_size=4),
    prices=st.dictionaries(st.text(max_size=8), amounts, max_size=2),
    counts=st.dictionaries(st.text(max_size=8), st.integers(0, 10**7), max_size=2),
)


def packed(data):
    raw = data if isinstance(data, bytes) else json.dumps(data).encode()
    return base64.urlsafe_b64encode(zlib.compress(raw)).rstrip(b"=").decode()


@settings(max_examples=60, deadline=None)
@given(problem=problems(), what_if=what_ifs)
def test_a_link_opens_what_it_was_made_of(problem, what_if):
    link = Link(problem, what_if)
    assert link_of(query_of(link)) == link


@settings(max_examples=60, deadline=None)
@given(name=st.text(min_size=1, max_size=40), number=st.integers(1, 10**8), what_if=what_ifs)
def test_a_link_to_a_saved_version_opens_that(name, number, what_if):
    link = Link(VersionKey(name, number), what_if)
    assert link_of(query_of(link)) == link


@settings(max_examples=200, deadline=None)
@given(
    query=st.dictionaries(
        st.sampled_from([PROBLEM, SAVED, CHANGES, "work"]),
        st.text(max_size=60) | st.binary(max_size=60).map(packed) | st.recursive(st.none(), st.lists).map(packed),
    )
)
def test_whatever_stands_in_an_address_gives_a_link_or_a_finding(query):
    is_link = bool(query.keys() & {PROBLEM, SAVED, CHANGES})
    with suppress(InputError):
        assert (link_of(query) is not None) == is_link


def test_other_addresses_are_no_links():
    assert link_of({}) is None
    assert link_of({"work": "abc"}) is None


def test_a_large_problem_does_not_fit_into_an_address():
    with pytest.raises(TooLongError, match="characters; addresses hold about 8,000"):
        query_of(Link(random_problem(1000, 1), WhatIf()))
    assert sum(map(len, query_of(Link(random_problem(50, 1), WhatIf(rate=2))).values())) < MOST_CHARACTERS


@pytest.mark.parametrize(
    ("query", "message"),
    [
        ({PROBLEM: packed(b"[" + b" " * 2**22 + b"]")}, "holds more than 256 KiB"),
        ({PROBLEM: packed(b"[" * 100_000)}, "nested too deeply"),
        ({PROBLEM: packed({"version": 1})[:-9]}, "cannot be read"),
        ({PROBLEM: packed({"version": 1}) + "AAAA"}, "cannot be read"),
        ({PROBLEM: "é"}, "cannot be read"),
        ({PROBLEM: "A" * 8001}, "longer than 8,000 characters"),
        ({PROBLEM: packed(b"\xff\xfe")}, "not UTF-8"),
        ({PROBLEM: packed(b"{]")}, "not valid JSON"),
        ({PROBLEM: packed(b'{"version": 1, "version": 1}')}, "stands twice"),
        ({PROBLEM: packed([1, 2])}, "expected a mapping"),
        ({PROBLEM: packed({"version": 1, "name": "x", "fleet": [], "workloads": []})}, "expected at least 1"),
        ({CHANGES: packed({"rate": -1}), SAVED: "1:x"}, "rate is -1; expected a number above 0"),
        ({CHANGES: packed(b'{"rate": NaN}'), SAVED: "1:x"}, "rate is nan; expected a finite number"),
        ({CHANGES: packed({"rate": 2, "code": "x"}), SAVED: "1:x"}, "code is not a field here"),
        ({SAVED: "0:x"}, "expected the number and name"),
        ({SAVED: "demo"}, "expected the number and name"),
        ({CHANGES: packed({})}, "expected the number and name"),
    ],
)
def test_hostile_links_are_refused_with_what_is_wrong(query, message):
    with pytest.raises(InputError, match=message):
        link_of(query)


def test_a_link_says_all_that_is_wrong_of_a_problem():
    data = ONE.model_dump(mode="json") | {"colour": "red"}
    with pytest.raises(InputError, match="colour is not a field here"):
        link_of({PROBLEM: packed(data)})


def test_a_link_by_a_saved_version_opens_it_from_the_store():
    saved = save_new_problem(shared_store(), example_problems()["mixed"], author="ann", name="by-link")
    session = opened_session(query_of(Link(saved.key, WhatIf())), "ben")
    assert (session.user, session.problem, session.saved_as) == ("ben", example_problems()["mixed"], saved.key)
    with pytest.raises(StoreError, match="gone"):
        opened_session({"saved": "7:gone"}, "ben")
