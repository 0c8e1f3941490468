"""Calls of several users take turns."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliceplan.solver.workers.turns import Turns


def test_the_user_with_fewest_calls_running_is_next():
    turns = Turns(3)
    for call in range(4):
        turns.add("sweeper", call)
    assert turns.take() == ("sweeper", 0)
    turns.add("guest", "g")
    assert turns.take() == ("guest", "g")
    assert turns.take() == ("sweeper", 1)


def test_users_who_have_nothing_running_take_turns():
    turns = Turns(1)
    for call in range(2):
        for user in ("a", "b", "c"):
            turns.add(user, call)
    order = []
    for _ in range(6):
        user, call = turns.take()
        order.append((user, call))
        turns.done(user)
    assert order == [("a", 0), ("b", 0), ("c", 0), ("a", 1), ("b", 1), ("c", 1)]


def test_a_server_is_kept_for_whoever_comes_next():
    turns = Turns(2, kept_free=1)
    turns.add("sweeper", 0)
    turns.add("sweeper", 1)
    assert turns.take() == ("sweeper", 0)
    turns.add("guest", "g")
    assert turns.take() == ("guest", "g")
    turns.done("guest")
    turns.done("sweeper")
    assert turns.take() == ("sweeper", 1)


def test_what_waits_is_still_served_after_closing_and_nothing_else():
    turns = Turns(1)
    turns.add("a", 0)
    turns.close()
    with pytest.raises(RuntimeError, match="shut down"):
        turns.add("a", 1)
    assert turns.take() == ("a", 0)
    turns.done("a")
    assert turns.take() is None


@given(st.lists(st.sampled_from("abcd"), max_size=30), st.integers(1, 5), st.booleans())
def test_every_call_is_served_once_in_its_users_order(users, servers, keeps_one):
    """Property: whatever the order, the calls of a user are taken in theirs, and none is lost."""
    turns = Turns(servers, 1 if keeps_one and servers > 1 else 0)
    for number, user in enumerate(users):
        turns.add(user, number)
    taken = []
    for _ in users:
        user, number = turns.take()
        taken.append((user, number))
        turns.done(user)
    assert sorted(number for _, number in taken) == list(range(len(users)))
    for user in set(users):
        own = [number for whose, number in taken if whose == user]
        assert own == sorted(own)
