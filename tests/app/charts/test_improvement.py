"""The picture of a search that goes on: what was found and proven, and when."""

from sliceplan.app.charts.improvement import improvement_chart
from sliceplan.solver.model.judged import Judged
from sliceplan.solver.model.objective import CAPACITY, COST


def test_cost_and_bound_are_stairs_over_the_seconds_at_which_they_were_found():
    figure = improvement_chart([(1.0, Judged(COST, 12.0, None, None)), (4.5, Judged(COST, 10.0, 8.0, 0.25))])
    best, bound = figure.data
    assert (list(best.x), list(best.y)) == ([1.0, 4.5], [12.0, 10.0])
    assert (list(bound.x), list(bound.y)) == ([1.0, 4.5], [None, 8.0])
    assert {best.line.shape, bound.line.shape} == {"hv"}  # a plan stays the best until there is a better one
    assert list(best.text) == ["$12.00 per hour", "$10.00 per hour"]
    assert bound.name == "proven: no plan costs less than"
    assert figure.layout.yaxis.title.text == "USD per hour"


def test_another_objective_has_its_own_words_and_unit():
    _, bound = improvement_chart([(1.0, Judged(CAPACITY, 100.0, 120.0, 0.2))]).data
    assert bound.name == "proven: no plan could carry more than"
    assert list(bound.text) == ["120.0 requests/s"]
