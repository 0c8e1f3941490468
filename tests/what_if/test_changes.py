"""A what-if changes a copy of the problem, and only what it names."""

import pytest
from problems.instances import problem_of

from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.parsing import parse_record
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.what_if.changes import applied, description, fitting

TWO = problem_of(
    [
        {"name": "a", "model": "vgg16", "rate_rps": 100, "slo_ms": 200},
        {"name": "b", "model": "resnet50", "rate_rps": 10, "slo_ms": 50},
    ],
    fleet=[{"gpu": "A100-80GB", "nodes": [{"name": "n1", "count": 4}]}],
    headroom=0.2,
)


def test_no_change_gives_the_very_problem():
    assert applied(TWO, WhatIf()) is TWO
    assert applied(TWO, WhatIf(rates={"gone": 5}, prices={"H100-80GB-SXM": 1})) is TWO


def test_what_is_for_one_service_comes_after_what_is_for_all():
    changed = applied(TWO, WhatIf(rate=2, slo=0.5, rates={"b": 70}, slos={"b": 90}))
    assert [(one.rate_rps, one.slo_ms) for one in changed.workloads] == [(200, 100), (70, 90)]
    assert [one.rate_rps for one in TWO.workloads] == [100, 10]


def test_headroom_of_one_service_takes_the_place_of_the_one_for_all():
    changed = applied(TWO, WhatIf(headroom=0.5, headrooms={"a": 0.0}, rates={"a": 300}))
    needed = [one.rate_rps * (1 + changed.settings.headroom) for one in changed.workloads]
    assert needed == pytest.approx([300, 15])


def test_a_count_takes_the_place_of_named_nodes():
    (entry,) = applied(TWO, WhatIf(counts={"A100-80GB": 9}, prices={"A100-80GB": 2.5})).fleet
    assert (entry.count, entry.nodes, entry.price_per_hour) == (9, None, 2.5)


def test_figures_that_no_problem_may_have_are_refused():
    with pytest.raises(InputError, match=r"what-if: workloads\[0\].rate_rps is"):
        applied(problem_of([{"model": "vgg16", "rate_rps": 9e6, "slo_ms": 200}]), WhatIf(rate=10))


def test_changes_of_what_is_gone_are_left_out():
    assert fitting(WhatIf(rate=2, rates={"a": 5, "c": 6}), TWO) == WhatIf(rate=2, rates={"a": 5})


def test_changes_in_words():
    assert description(WhatIf()) == ""
    said = description(WhatIf(rate=1.5, headroom=0.1, slos={"a": 90}, counts={"A100-80GB": 3}))
    assert said == "every rate x 1.5, headroom 10%, a: SLO 90 ms, A100-80GB: count 3 GPUs"
    assert description(WhatIf(slo=0.8)) == "every SLO x 0.8 (stricter)"
    assert description(WhatIf(slo=2)) == "every SLO x 2 (looser)"


@pytest.mark.parametrize(
    "changes",
    [
        WhatIf(rate=1.3, slo=0.7, headroom=0.1),
        WhatIf(rates={"b": 3}, headrooms={"b": 0.5}),
        WhatIf(prices={"A100-80GB": 2}, counts={"A100-80GB": 3, "EPYC-9654": 2}),
    ],
)
def test_what_is_read_again_in_part_is_what_all_of_it_would_be(changes):
    fleet = [{"gpu": "A100-80GB", "price_factor": 0.6}, {"cpu": "EPYC-9654", "count": 1}]
    base = problem_of([dict(vars(one)) for one in TWO.workloads], fleet=fleet)
    changed = applied(base, changes)
    assert changed != base
    assert parse_record(Problem, changed.model_dump(mode="json"), "again") == changed
