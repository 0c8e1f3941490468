"""Axes: how they are written, what is refused, and what their values make of a problem."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems.instances import problem_of

from sliceplan.solver.model.errors import InputError
from sliceplan.solver.what_if.axes import parse_axes, with_values

PROBLEM = problem_of(
    [
        {"name": "search", "model": "bert", "rate_rps": 100, "slo_ms": 300},
        {"name": "photos", "model": "resnet50", "rate_rps": 400, "slo_ms": 150},
    ],
    fleet=[{"gpu": "A100-80GB", "nodes": [{"name": "n1", "count": 4}]}],
    headroom=0.25,
)


def axis(text):
    return parse_axes([text], PROBLEM)[0]


def changed(text):
    one = axis(text)
    return with_values(PROBLEM, [one], one.values[:1])


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("rate=0.5:1:0.1", (0.5, 0.6, 0.7, 0.8, 0.9, 1.0)),
        ("rate=0.5:1:0.2", (0.5, 0.7, 0.9)),
        ("rate=2,1,2", (1.0, 2.0)),
        ("slo:search=300", (300.0,)),
        ("count:A100-80GB=1:3:1", (1.0, 2.0, 3.0)),
    ],
)
def test_values_are_a_list_or_a_range_that_holds_its_end(text, values):
    assert axis(text).values == values
    assert axis(text).name == text.partition("=")[0]


def test_a_factor_is_for_all_services_and_a_rate_for_one():
    assert [one.rate_rps for one in changed("rate=1.5").workloads] == [150, 600]
    assert [one.rate_rps for one in changed("rate:photos=7").workloads] == [100, 7]
    assert [one.slo_ms for one in changed("slo=0.5").workloads] == [150, 75]
    assert [one.slo_ms for one in changed("slo:search=90").workloads] == [90, 150]


def test_headroom_is_for_all_services_or_takes_the_place_of_the_problems_for_one():
    assert changed("headroom=0.1").settings.headroom == 0.1
    one = changed("headroom:search=0.5")
    assert one.settings.headroom == 0.25
    assert one.workloads[0].rate_rps * 1.25 == pytest.approx(100 * 1.5)
    assert one.workloads[1] == PROBLEM.workloads[1]


def test_a_price_and_a_count_are_of_a_gpu_type_and_a_count_replaces_nodes():
    assert changed("price:A100-80GB=2").fleet[0].price_per_hour == 2
    (entry,) = changed("count:A100-80GB=9").fleet
    assert (entry.count, entry.nodes) == (9, None)


def test_two_axes_change_two_things():
    axes = parse_axes(["rate=2", "price:A100-80GB=3"], PROBLEM)
    both = with_values(PROBLEM, axes, (2.0, 3.0))
    assert (both.workloads[0].rate_rps, both.fleet[0].price_per_hour) == (200, 3)


def test_what_is_for_one_service_holds_whichever_axis_comes_first():
    for texts in (["rate=2", "rate:search=7"], ["rate:search=7", "rate=2"]):
        axes = parse_axes(texts, PROBLEM)
        both = with_values(PROBLEM, axes, [axis.values[0] for axis in axes])
        assert [one.rate_rps for one in both.workloads] == [7, 800]
    for texts in (["headroom=1", "headroom:search=0.5"], ["headroom:search=0.5", "headroom=1"]):
        axes = parse_axes(texts, PROBLEM)
        both = with_values(PROBLEM, axes, [axis.values[0] for axis in axes])
        assert both.workloads[0].rate_rps * (1 + both.settings.headroom) == pytest.approx(150)


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["speed=1:2:1"], r"speed=1:2:1 is no axis; expected KIND"),
        (["rate"], r"rate is no axis; expected KIND"),
        (["rate=a,b"], r"the values cannot be read"),
        (["rate=1:2"], r"the values cannot be read"),
        (["rate=2:1:0.1"], r"is to rise from FROM to TO"),
        (["rate=1:2:0"], r"is to rise from FROM to TO"),
        (["rate=0:1:1e-9"], r"more than 100,000 values"),
        (["rate:serch=1"], r"names no service of the problem. Did you mean 'search'\?"),
        (["price=1"], r"needs a GPU type of the fleet, as price:A100-80GB="),
        (["price:A100=1"], r"Did you mean 'A100-80GB'"),
        (["count:A100-80GB=1.5"], r"no whole numbers"),
        (["rate=0:1:0.5"], r"rate=0: workloads\[0\].rate_rps is 0.0; expected a number above 0"),
        (["headroom=-0.5"], r"settings.headroom is -0.5; expected a number of at least 0"),
        (["rate=nan"], r"are to be finite"),
        (["rate=1:inf:1"], r"is to rise from FROM to TO"),
        (["rate=1", "slo=1", "headroom=0"], r"expected one or two different axes"),
        (["rate=1", "rate=2"], r"expected one or two different axes"),
        (["rate=1:1000:1", "slo=1:1000:1"], r"1,000,000 points; at most 100,000"),
        (["rate:serch=1", "price:A100=1"], r"(?s)serch.*A100"),
        (["rte=1", "count=2"], r"(?s)Did you mean 'rate'.*count needs a GPU type"),
    ],
)
def test_what_is_wrong_with_axes_is_said(texts, message):
    with pytest.raises(InputError, match=message):
        parse_axes(texts, PROBLEM)


@given(st.floats(0.1, 10), st.floats(0.01, 1), st.integers(0, 50))
def test_a_range_has_even_steps_up_to_its_end(first, step, count):
    """Property: FROM:TO:STEP with TO = FROM + n STEP has n + 1 values."""
    last = first + count * step
    values = axis(f"rate={first!r}:{last!r}:{step!r}").values
    assert len(values) == count + 1
    assert values[0] == pytest.approx(first)
    assert values[-1] == pytest.approx(last)
