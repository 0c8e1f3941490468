"""The strip of one round: slots one after the other, and each request's longest way beside what it may take."""

import pytest
from problems.rounds import two_in_a_round
from problems.shop import shop, shop_plan
from support.app_screens import screen, session_with, texts

from sliceplan.app.charts.round_strip import round_chart, rounds_in_words, rounds_of
from sliceplan.app.session.session import Result


def bars(figure, row):
    return [
        (trace.base[0], trace.x[0], trace.name) for trace in figure.data if trace.type == "bar" and trace.y[0] == row
    ]


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_the_round_is_filled_by_its_slots_and_the_rest_of_it(turns):
    problem, plan = two_in_a_round(turns)
    (shown,) = rounds_of(plan)
    figure = round_chart(shown, problem, plan)
    slots = bars(figure, 0)
    assert [name for _, _, name in slots] == ["a", "b", "nobody runs"]
    assert [start for start, _, _ in slots] == pytest.approx([0, *(slots[i][0] + slots[i][1] for i in (0, 1))])
    assert slots[-1][0] + slots[-1][1] == pytest.approx(40.0)


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_waiting_and_execution_add_up_to_the_longest_way_and_stand_beside_the_slo(turns):
    problem, plan = two_in_a_round(turns)
    (shown,) = rounds_of(plan)
    figure = round_chart(shown, problem, plan)
    took = [one.latency_ms for one in shown.partition.serves]
    for row, (one, own) in enumerate(zip(problem.workloads, took, strict=True), 1):
        (_, waits, _), (start, runs, _) = bars(figure, row)
        assert start == waits
        assert waits + runs == pytest.approx(40 + (own if turns == "fixed" else sum(took)))
        (line,) = [trace for trace in figure.data if trace.type == "scatter" and round(sum(trace.y) / 2) == row]
        assert set(line.x) == {one.slo_ms}
        assert waits + runs <= one.slo_ms


def test_the_screen_says_who_runs_when_and_only_where_somebody_takes_turns():
    problem, plan = two_in_a_round()
    session = session_with(problem)
    session.results["solve"] = Result(problem, plan)
    page = screen("plan", session)
    assert not page.exception
    assert "Who runs when" in texts(page.header)
    assert rounds_in_words(rounds_of(plan)) in texts(page.markdown)
    assert rounds_of(shop_plan()) == []
    session.results["solve"] = Result(shop(), shop_plan())
    assert "Who runs when" not in texts(page.run().header)
