"""How far an order of services is tried, with a planner of which is known what fits."""

from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.exact.shedding import longest_beginning as module
from sliceplan.solver.exact.shedding.longest_beginning import ANY_GAP, _worth_more, longer_beginnings

ORDER = np.array([3, 1, 4, 0, 5, 2])


class Problem(SimpleNamespace):
    """Services that are worth one each; a restricted one is the list of those that are left."""

    def restricted_to(self, rows):
        return rows


def problem(*worth):
    return Problem(problem=SimpleNamespace(workloads=[SimpleNamespace(worth=one) for one in worth]))


@pytest.fixture
def tries(monkeypatch):
    """Returns a function that searches where beginnings fit up to a length; it gives what was tried and found."""

    def searched(longest, *, fits, most, rules=None):
        tried = []

        def planned(part, asked, time_limit_s):
            assert (asked, time_limit_s > 0) == (rules, True)
            assert part == sorted(ORDER[: len(part)].tolist())
            tried.append(len(part))
            return SimpleNamespace(patterns=() if len(part) <= longest else None)

        monkeypatch.setattr(module, "_planned", planned)
        monkeypatch.setattr(module, "replace", lambda one, gap: one if gap == ANY_GAP else None)
        found = longer_beginnings(problem(*[1.0] * 6), ORDER, rules, fits=fits, most=most, time_limit_s=60)
        return tried, [(len(chosen), answer.patterns) for chosen, answer in found]

    return searched


@pytest.mark.parametrize("longest", range(7))
@pytest.mark.parametrize("fits", [0, 2])
def test_the_longest_beginning_with_a_plan_is_found_last(tries, longest, fits):
    tried, found = tries(longest, fits=fits, most=6.0)
    assert [length for length, _ in found] == sorted(length for length, _ in found)
    assert max([fits, *(length for length, _ in found)]) == max(fits, longest)
    assert all(fits < length <= 6 for length in tried)
    assert len(set(tried)) == len(tried)


def test_from_what_is_proven_down_in_growing_steps_and_then_by_halves(tries):
    assert tries(1, fits=0, most=6.0) == ([6, 4, 1, 2], [(1, ())])
    assert tries(6, fits=0, most=6.0) == ([6], [(6, ())])
    assert tries(4, fits=0, most=4.0) == ([4], [(4, ())])
    assert tries(4, fits=4, most=4.0) == ([], [])


@pytest.mark.parametrize(("most", "length"), [(0.0, 1), (1.0, 2), (1.5, 2), (2.0, 3), (8.0, 5), (9.0, 6), (11.0, 7)])
def test_the_shortest_beginning_that_is_worth_more_than_is_proven(most, length):
    assert _worth_more(problem(5.0, 1.0, 2.0, 1.0, 1.0, 1.0), ORDER, most) == length


def test_after_a_plan_what_is_left_is_halved(monkeypatch):
    """Of thirty: 30, 28, 24 and 16 in growing steps, and then the middle between what fits and what does not."""
    tried = []

    def planned(part, *_):
        tried.append(len(part))
        return SimpleNamespace(patterns=() if len(part) <= 21 else None)

    monkeypatch.setattr(module, "_planned", planned)
    monkeypatch.setattr(module, "replace", lambda one, **_: one)
    found = list(longer_beginnings(problem(*[1.0] * 30), np.arange(30), None, fits=0, most=30.0, time_limit_s=60))
    assert tried == [30, 28, 24, 16, 20, 22, 21]
    assert [len(chosen) for chosen, _ in found] == [16, 20, 21]


@pytest.mark.parametrize("rules", [None, "rules"])
def test_a_plan_is_looked_for_by_prices_or_with_what_is_kept_free(monkeypatch, rules):
    asked = []

    def answer(name):
        return lambda *of, **options: asked.append((name, of, options)) or SimpleNamespace(answer=name)

    monkeypatch.setattr(module, "solve_by_prices", answer("prices"))
    monkeypatch.setattr(module, "solve_with_spares", answer("spares"))
    assert module._planned("part", rules, 7.0) == ("spares" if rules else "prices")
    if rules:
        assert asked == [("spares", ("part", "rules"), {"any_plan": True, "time_limit_s": 7.0})]
    else:
        assert asked == [("prices", ("part",), {"time_limit_s": 7.0})]
