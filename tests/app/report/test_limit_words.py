"""Why a limit holds, in words: every method of the exact planners has some, and others are not explained away."""

import pytest

from sliceplan.app.report.limit_words import BY_OTHERS, REASONS, why_the_limit_holds
from sliceplan.solver.exact.capacity import answer as capacity_answer
from sliceplan.solver.exact.fleet import (
    decomposition,
    fleet_by_prices,
    fleet_by_sets,
    fleet_by_surroundings,
    fleet_counts,
    more_than_one_gpu,
)
from sliceplan.solver.exact.fleet import spare_fleet as spares
from sliceplan.solver.exact.shared_capacity import answer as shared_answer
from sliceplan.solver.planners import exact_pulp, migserving
from sliceplan.solver.planners.exact_plans import of_contents, of_rounds, turns_at_hand

METHODS = (
    *(decomposition.PRICES, decomposition.WHOLE, fleet_by_prices.PRICES),
    *(fleet_by_sets.SETS, fleet_by_sets.FLUID, fleet_by_sets.GENERATED),
    *(fleet_by_surroundings.SURROUNDINGS, fleet_by_surroundings.CHEAPER),
    *(fleet_counts.COUNTS, more_than_one_gpu.TWO),
    *(spares.WITH_SPARES, spares.WITHOUT_SPARES),
    *(
        capacity_answer.METHOD,
        shared_answer.METHOD,
        exact_pulp.METHOD,
        of_contents.METHOD,
        of_contents.ALL_CONTENTS,
        turns_at_hand.PARTS,
        of_rounds.METHOD,
        of_rounds.METHOD_WITH_FREE,
        of_rounds.METHOD_BESIDE,
        migserving.PAPER_BOUND,
    ),
)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_has_plain_words(method):
    said = why_the_limit_holds(method)
    assert said != BY_OTHERS
    assert ".py" not in said
    assert said.endswith(".")


def test_each_reason_is_of_a_method_and_unlike_the_others():
    found = {why_the_limit_holds(method) for method in METHODS}
    assert found == {said for _, said in REASONS}
    assert len(found) == len(REASONS)


def test_a_method_of_another_version_is_not_guessed():
    assert why_the_limit_holds("a method that nobody knows") == BY_OTHERS
