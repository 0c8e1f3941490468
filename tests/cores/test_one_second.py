"""A second on the cores of a CPU: no core has two queries, and every query has the cores that its run gave it."""

import random

import pytest

from sliceplan.solver.cores.core_places import placed, runs_of
from sliceplan.solver.cores.made_up_layers import made_up_model
from sliceplan.solver.cores.one_second import LONG_MS, one_second
from sliceplan.solver.cores.runtimes.timetable import Machine, Span
from sliceplan.solver.cores.schedulers.registry import schedulers

MODEL = made_up_model()


def drawn_spans(seed):
    """Returns the spans of queries that grow and shrink on few cores, and how many cores there are."""
    draw, cores = random.Random(seed), random.Random(seed).randint(1, 9)
    held, spans, query = {}, [], 0
    for moment in range(40):
        for one in [one for one in held if draw.random() < 0.5]:
            begun, count = held.pop(one)
            spans.append(Span(one, count, begun, begun, moment))
            room = cores - sum(count for _, count in held.values())
            if room and draw.random() < 0.6:
                held[one] = (moment, draw.randint(1, room))
        room = cores - sum(count for _, count in held.values())
        if room and draw.random() < 0.7:
            held[query] = (moment, draw.randint(1, room))
            query += 1
    spans += [Span(one, count, begun, begun, 40) for one, (begun, count) in held.items()]
    return draw.sample(spans, len(spans)), cores


@pytest.mark.parametrize("seed", range(40))
def test_no_core_has_two_queries_and_who_goes_on_keeps_cores(seed):
    spans, cores = drawn_spans(seed)
    found = placed(spans, cores)
    assert sorted(one.span for one in found) == sorted(one for one in spans if one.end_ms > one.begin_ms)
    for moment in range(40):
        now = [one for one in found if one.span.begin_ms <= moment < one.span.end_ms]
        taken = [core for one in now for core in one.cores]
        assert len(taken) == len(set(taken)) == sum(one.span.cores for one in now)
        assert set(taken) <= set(range(cores))
    for one in found:
        for other in found:
            if one.span.query == other.span.query and one.span.end_ms == other.span.begin_ms:
                assert len({*one.cores} & {*other.cores}) == min(len(one.cores), len(other.cores))


def test_runs_are_cores_beside_each_other():
    assert runs_of([0, 1, 2, 5, 7, 8]) == [(0, 3), (5, 1), (7, 2)]
    assert runs_of([]) == []


@pytest.mark.parametrize("name", schedulers())
def test_a_second_is_a_part_of_the_run(name):
    second = one_second(MODEL, 12.0, schedulers()[name], Machine(64, 0.22), 150.0)
    assert all(0 <= one.span.begin_ms <= one.span.runs_ms <= one.span.end_ms <= LONG_MS for one in second.places)
    assert {one.span.query for one in second.places} == {one.number for one in second.queries}
    assert 110 < len(second.queries) < 200
    assert 0.2 < second.busy <= 1
    for one in second.queries:
        assert one.is_late == (one.ended_ms - one.came_ms > second.slo_ms + 1e-6)
        begun = [place.span.begin_ms for place in second.places if place.span.query == one.number]
        assert min(begun) >= min(max(one.came_ms, 0), LONG_MS) - 1e-6


def test_the_made_up_model_says_so_and_never_slows_down_with_cores():
    assert "made up" in MODEL.provenance.source
    assert all(list(layer.ms) == sorted(layer.ms, reverse=True) for layer in MODEL.layers)
