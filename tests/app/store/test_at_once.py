"""Processes that save at once lose nothing."""

from itertools import pairwise

from support.store_writers import SHARED, edit_apart, edit_together, run_at_once

from sliceplan.app.store.opening import open_store
from sliceplan.app.store.problems import latest_version, load_problem, save_new_problem, versions

ROUNDS = 50


def test_two_who_save_from_the_same_version_a_hundred_times_lose_nothing(url):
    store = open_store(url)
    save_new_problem(store, SHARED, author="first")
    outcomes = run_at_once(edit_together, url, 2, ROUNDS)
    saved = {name for outcome in outcomes for name in outcome.saved}
    # In every round both edit one version, so that exactly one of them is told.
    assert sum(outcome.conflicts for outcome in outcomes) == ROUNDS
    assert len(saved) == 2 * ROUNDS
    last = load_problem(store, latest_version(store, "shared").key)
    assert {workload.name for workload in last.workloads} == saved | {"shared"}
    history = versions(store, "shared")
    assert [version.key.number for version in history] == [*range(2 * ROUNDS + 1, 0, -1)]
    for later, earlier in pairwise(history):
        assert later.parent == earlier.key
        assert later.saved_at >= earlier.saved_at
    store.dispose()


def test_those_who_open_an_empty_database_and_save_different_problems_at_once_do_not_disturb_each_other(url):
    assert run_at_once(edit_apart, url, 2, 20) == [21, 21]
