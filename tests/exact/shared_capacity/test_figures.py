"""What residents of a GPU carry, in a model that can be said again in a line, one resident after the other."""

from itertools import combinations_with_replacement
from types import SimpleNamespace

import numpy as np
import pytest

from sliceplan.solver.allocation.allocated import MpsGpu, Resident
from sliceplan.solver.exact.shared_capacity.figures import Choices, Figures
from sliceplan.solver.exact.shared_capacity.gpu_contents import Content

from .paid import all_paid

WORK = np.array([40.0, 90.0, 10.0, 60.0])
"""Milliseconds of a request on a whole GPU alone."""
ASKS = np.array([1.0, 2.0, 3.0, 0.5])
LIMIT_MS = np.array([500.0, 520.0, 30.0, 400.0])
BATCHES = ([1, 2, 4], [1, 3], [1, 2], [1])


def latency_ms(w, batch, percent, asked, residents):
    """Returns what a batch takes where all residents together ask for so much."""
    return WORK[w] * batch / (percent / 100) * (1 + 0.1 * asked + 0.05 * (residents - 1))


class Model:
    """More that is asked for, and more residents, slow everybody; who is able to do more asks for more."""

    def ability_rps(self, workload, batch, percent):
        return percent + 0.0 * batch * workload

    def demands_at(self, workload, ability):
        return (ASKS[workload] * ability / 100,)

    def among(self, workload, batch, percent, *, totals, residents):
        latency = latency_ms(workload, batch, percent, totals[0], residents)
        return latency, 1000 * batch / latency

    def predict(self, workload, batch, percent):
        here = percent > 0
        asked = (ASKS[workload] * percent / 100).sum(axis=1, keepdims=True)
        share = np.where(here, percent, 1.0)
        latency = latency_ms(workload, batch, share, asked, here.sum(axis=1, keepdims=True))
        rps = np.where(here, 1000 * batch / np.where(here, latency, 1.0), 0.0)
        return SimpleNamespace(latency_ms=np.where(here, latency, 0.0), throughput_rps=rps)


def figures(*, clients=4, memory_mib=6.0, once=(False,) * 4, rates=(1.0,) * 4, limit_ms=LIMIT_MS):
    """Returns a GPU of four units of which no share has one unit; the last service needs more memory than there is."""
    mps = SimpleNamespace(
        gpu="A",
        model=Model(),
        promise=None,
        shares=np.array([1, 2, 4]),
        batches=[np.array(one) for one in BATCHES],
        usable=np.array([True, True, True, True]),
        demand_mib=np.array([2.0, 3.0, 1.0, 7.0]),
        memory_mib=memory_mib,
        clients=clients,
        capacity_units=4,
        percent=lambda units: units * 25.0,
    )
    workloads = [SimpleNamespace(max_replicas=1 if own else None) for own in once]
    resolved = SimpleNamespace(
        problem=SimpleNamespace(workloads=workloads), required_rps=np.array(rates), limit_ms=limit_ms
    )
    return Figures.of(resolved, mps, all_paid(len(resolved.required_rps)))


def alone(w, batch, units, least=0.0):
    """Returns what a resident carries alone, 0 if it is late or carries too little."""
    percent = 25.0 * units
    ms = latency_ms(w, batch, percent, ASKS[w] * percent / 100, 1)
    rps = 1000 * batch / ms
    return rps if ms <= LIMIT_MS[w] and rps >= least else 0.0


@pytest.mark.parametrize(
    ("once", "rates"), [((False,) * 4, (1e6,) * 4), ((True, False, True, True), (20.0, 1e6, 100.0, 1.0))]
)
def test_a_resident_may_be_what_alone_is_in_time_and_carries_all_of_a_rate_that_no_other_carries(once, rates):
    """Property: by workload, share and batch; none that needs more memory than there is."""
    found = figures(once=once, rates=rates)
    assert found.once.tolist() == list(once)
    least = [rate * (1 - 1e-9) if own else 0.0 for own, rate in zip(once, rates, strict=True)]
    assert found.least_rps.tolist() == least
    expected = [
        (w, units, batch)
        for w in range(3)
        for units in (1, 2, 4)
        for batch in BATCHES[w]
        if alone(w, batch, units, least[w]) > 0
    ]
    choices = found.choices
    assert list(zip(choices.workload.tolist(), choices.units.tolist(), choices.batch.tolist(), strict=True)) == expected
    assert len(choices) == len(expected) > 5
    assert choices.demands[0] == pytest.approx([ASKS[w] * units / 4 for w, units, _ in expected])
    starts = [i for i, one in enumerate(expected) if not i or one[:2] != expected[i - 1][:2]]
    assert choices.starts.tolist() == starts
    assert found.least_demands == (min(ASKS[w] * units / 4 for w, units, _ in expected),)
    kept = np.arange(len(choices)) % 3 == 1
    some = choices.of(kept)
    rows = zip(some.workload.tolist(), some.units.tolist(), some.batch.tolist(), some.demands[0].tolist(), strict=True)
    assert list(rows) == [(*one, pytest.approx(ASKS[one[0]] * one[1] / 4)) for one in expected[1::3]]


def test_nobody_may_be_anything_where_nobody_has_memory():
    found = figures(memory_mib=0.5)
    assert (len(found.choices), found.choices.starts.tolist(), found.least_demands) == (0, [], (0.0,))


@pytest.mark.parametrize("residents", [1, 2, 3])
@pytest.mark.parametrize("total", [0.0, 1.5, 4.0])
def test_among_others_a_resident_carries_no_more_than_where_they_ask_for_as_little_as_they_may(total, residents):
    """Property: so with lower limits of what is asked for it is an upper limit of each."""
    found = figures(once=(True, False, False, False), rates=(30.0,) + (1.0,) * 3)
    choices = found.choices
    carried = found.carried_among(choices, (total,), residents)
    (least,) = found.least_demands
    late = 0
    for i, (w, units, batch) in enumerate(zip(choices.workload, choices.units, choices.batch, strict=True)):
        asked = max(total, ASKS[w] * units / 4 + (residents - 1) * least)
        ms = latency_ms(w, batch, 25.0 * units, asked, residents)
        rps = 1000 * batch / ms
        holds = ms <= LIMIT_MS[w] and (w > 0 or rps >= 30.0)
        assert carried[i] == (pytest.approx(rps) if holds else 0.0)
        late += not holds
    assert late > 0 or residents == 1 or total < 4


def test_what_residents_carry_together_is_told_without_those_who_have_no_place():
    """Property: of every two and three; the content is what is left, in its order, and nobody of it is late."""
    found = figures(clients=2, once=(True, False, False, False), rates=(22.0, 1.0, 1.0, 1.0))
    every = [Resident(w, batch, 25.0 * units) for w in range(3) for units in (1, 2) for batch in BATCHES[w][:2]]
    whole = fewer = nobody = 0
    for chosen in combinations_with_replacement(every, 2):
        content = found.content(chosen)
        asked = sum(ASKS[one.workload] * one.percent / 100 for one in chosen)
        ms = [latency_ms(one.workload, one.batch, one.percent, asked, 2) for one in chosen]
        rps = [1000 * one.batch / own for one, own in zip(chosen, ms, strict=True)]
        late = [own / LIMIT_MS[one.workload] for one, own in zip(chosen, ms, strict=True)]
        little = [one.workload == 0 and own < 22.0 * (1 - 1e-9) for one, own in zip(chosen, rps, strict=True)]
        fits = sum(found.mps.demand_mib[one.workload] for one in chosen) <= 6.0
        if fits and max(late) <= 1 and not any(little):
            assert content == Content(MpsGpu("A", chosen), pytest.approx(tuple(rps)))
            whole += 1
            continue
        # Whoever carries too little goes first, then the latest; without memory the last.
        worst = 1
        if fits:
            worst = int(np.argmax([10 + own if few else own for few, own in zip(little, late, strict=True)]))
            if all(little):
                worst = 0
        left = chosen[1 - worst]
        alone_rps = alone(
            left.workload, left.batch, round(left.percent / 25), 22.0 * (1 - 1e-9) if left.workload == 0 else 0.0
        )
        if alone_rps:
            assert content == Content(MpsGpu("A", (left,)), (pytest.approx(alone_rps),))
            fewer += 1
        else:
            assert content is None
            nobody += 1
    assert min(whole, fewer, nobody) > 3, (whole, fewer, nobody)
    # No more than there may be clients: the last one has no place.
    three = [every[0], every[-1], every[-1]]
    assert found.content(three) == found.content(three[:2])
    assert found.content([]) is None


def test_a_content_counts_what_all_residents_of_a_workload_carry():
    content = Content(MpsGpu("A", tuple(Resident(w, 1, 25.0) for w in (2, 0, 2))), (5.0, 1.5, 7.0))
    assert content.rates(4).tolist() == [1.5, 0.0, 12.0, 0.0]
    assert content.replicas(4).tolist() == [1, 0, 2, 0]


@pytest.mark.parametrize("clients", [1, 2, 3])
def test_no_more_residents_have_a_place_than_mps_has_clients_and_memory_has_room_for(clients):
    """Three of 2, 1 and 2 MiB that are all in time: the last ones have none."""
    three = [Resident(0, 1, 25.0), Resident(2, 1, 50.0), Resident(0, 1, 25.0)]
    assert figures(clients=clients).content(three).gpu.residents == tuple(three[:clients])
    for memory_mib, number in ((5.0, 3), (4.9, 2), (3.0, 2), (2.9, 1), (2.0, 1)):
        assert len(figures(clients=3, memory_mib=memory_mib).content(three).gpu.residents) == number
    assert figures(memory_mib=1.9).content(three) is None


def test_choices_of_another_share_or_workload_begin_anew():
    """Whatever numbers these have: a share of two units may follow one of four."""
    draw = np.random.default_rng(0)
    for _ in range(20):
        rows = sorted({tuple(draw.integers(0, 4, 2).tolist()) for _ in range(6)})
        rows = [(w, units + 1) for w, units in rows for _ in range(int(draw.integers(1, 3)))]
        workload, units = np.array(rows).T
        choices = Choices(workload, units, np.ones(len(rows), dtype=np.int64), ())
        assert choices.starts.tolist() == [i for i, row in enumerate(rows) if not i or row != rows[i - 1]]


@pytest.mark.parametrize("unit", [1.0, 1e5])
def test_who_is_just_in_time_alone_may_be_there_however_few_requests_it_carries(unit, monkeypatch):
    """The smallest share of the first service takes just as long as its limit says, be it minutes."""
    monkeypatch.setitem(globals(), "WORK", WORK * unit)
    just = latency_ms(0, 1, 25.0, ASKS[0] / 4, 1)
    found = figures(limit_ms=np.array([just, 0.0, 0.0, 0.0]))
    assert (found.choices.workload[0], found.choices.units[0]) == (0, 1)
    assert len(figures(limit_ms=np.array([just * (1 - 1e-6), 0.0, 0.0, 0.0])).choices) == len(found.choices) - 1


def test_many_contents_are_told_as_each_alone_and_what_they_ask_for():
    """Property: sets of none to four residents, some of whom are late, at once."""
    found = figures(clients=3)
    draw = np.random.default_rng(0)
    every = [Resident(w, batch, 25.0 * units) for w in range(4) for units in (1, 2) for batch in BATCHES[w]]
    sets = [[every[i] for i in draw.integers(0, len(every), number)] for number in draw.integers(0, 5, 60).tolist()]
    together = found.contents(sets)
    assert together == [found.content(own) for own in sets]
    assert sum(one is None for one in together) > 3
    told = [one for one in together if one is not None]
    assert len({len(one.gpu.residents) for one in told}) > 1
    for one in told:
        asked = sum(ASKS[own.workload] * own.percent / 100 for own in one.gpu.residents)
        assert found.asked(one).tolist() == [pytest.approx(asked)]
    assert found.contents([]) == []
    price, charge = np.array([1.0, 2.0, 3.0, 4.0]), np.array([0.5, 0.0, -1.0, 0.0])
    content = Content(MpsGpu("A", tuple(Resident(w, 1, 25.0) for w in (2, 0, 2))), (5.0, 1.5, 7.0))
    assert content.worth(all_paid(4), price, charge) == pytest.approx(3 * 12 + 2 + 1.5 - 0.5)
