"""Rounds on GPUs under MPS where neighbours slow each other, in a model that can be said again in a line."""

import random

import numpy as np
import pytest

from sliceplan.solver.exact.turns.columns import slowed_gpus as module
from sliceplan.solver.exact.turns.columns.slowed_gpus import SlowedGpus, Wanted
from sliceplan.solver.performance.turns.turn_rule import TurnRule

UNITS, SERVICES = 10, 6


class Model:
    """A batch takes longer the more all ask; who has a larger share asks for more."""

    def __init__(self, work, asks):
        self.work, self.asks = np.array(work), np.array(asks)

    def ability_rps(self, services, batches, percent):
        return percent + 0.0 * services * batches

    def demands_at(self, services, ability):
        return self.asks[services] * ability / 100, 0.5 * self.asks[services] + 0 * ability

    def among(self, services, batches, percent, totals, residents):
        latency = self.work[services] * batches / percent * (1 + totals[0] + totals[1] + 0.05 * (residents - 1))
        return latency, 1000 * batches / latency


def latency_ms(model, wanted, units, others):
    """Returns the latencies of a round's batches beside others, each a round and its units."""
    beside = sum(max(model.asks[w] for w in one.services) * (k / UNITS + 0.5) for one, k in others)
    return [
        model.work[w]
        * b
        / (100 * units / UNITS)
        * (1 + model.asks[w] * (units / UNITS + 0.5) + beside + 0.05 * len(others))
        for w, b in zip(wanted.services, wanted.batches, strict=True)
    ]


def holds(gpus, wanted, units, others):
    """Tells whether a round carries what it has to, by requests that just miss their turn and wait a round."""
    own = latency_ms(gpus.model, wanted, units, others)
    if not wanted.in_turn:
        return own[0] <= gpus.limit_ms[wanted.services[0]] and 1000 * wanted.batches[0] / own[0] >= wanted.rates_rps[0]
    executed = own if gpus.rule.slots_kept else [sum(own)] * len(own)
    return all(
        sum(own) + after <= gpus.rule.slo_ms[w] and 1000 * b / sum(own) >= rate
        for w, b, rate, after in zip(wanted.services, wanted.batches, wanted.rates_rps, executed, strict=True)
    )


def least_units(gpus, all_wanted, units):
    """Returns the least units from given ones on at which all hold, raised one by one; None: they do not fit."""
    own = list(units)
    while sum(own) <= UNITS:
        short = [
            j
            for j, one in enumerate(all_wanted)
            if not holds(gpus, one, own[j], [(o, own[i]) for i, o in enumerate(all_wanted) if i != j])
        ]
        if not short:
            return own
        own[short[0]] += 1
    return None


def drawn(seed, **more):
    draw = random.Random(seed)
    model = Model([draw.uniform(100, 2500) for _ in range(SERVICES)], [draw.uniform(0, 0.4) for _ in range(SERVICES)])
    gpus = SlowedGpus(
        model,
        np.arange(1, UNITS + 1) * 100.0 / UNITS,
        clients=more.get("clients", 4),
        memory_mib=8.0,
        demand_mib=np.array([draw.choice([1.0, 2.0, 3.0]) for _ in range(SERVICES)]),
        limit_ms=np.full(SERVICES, 60.0),
        rule=TurnRule(np.array([draw.uniform(40, 200) for _ in range(SERVICES)]), draw.random() < 0.5),
        least_units=more.get("least_units", 1),
    )
    rounds, left = [], list(range(SERVICES))
    while left:
        size = min(draw.choice([1, 1, 2]), len(left))
        who, left = tuple(left[:size]), left[size:]
        in_turn = size > 1 or draw.random() < 0.5
        rounds.append(
            Wanted(who, tuple(draw.choice([1, 2]) for _ in who), tuple(draw.uniform(5, 40) for _ in who), in_turn)
        )
    return gpus, rounds


@pytest.mark.parametrize("least", [1, 2])
def test_rounds_hold_on_the_least_shares_on_the_fullest_gpus_that_have_room(least):
    """Property: by raising shares one by one; large rounds first, each on the GPU that is used most."""
    shared = refused = 0
    for seed in range(120):
        gpus, rounds = drawn(seed, least_units=least, clients=2 + seed % 3)
        alone = [least_units(gpus, [one], [least]) for one in rounds]
        found = gpus.deal(rounds)
        if any(own is None for own in alone):
            assert found is None
            refused += 1
            continue
        expected = []
        for j in sorted(range(len(rounds)), key=lambda j: -alone[j][0]):
            for gpu in sorted(expected, key=lambda one: -sum(one[1])):
                both = [*gpu[0], rounds[j]]
                memory = sum(float(gpus.demand_mib[w]) for one in both for w in one.services)
                units = least_units(gpus, both, [*gpu[1], alone[j][0]])
                if len(both) <= gpus.clients and memory <= gpus.memory_mib and units is not None:
                    gpu[:] = [both, units]
                    break
            else:
                expected.append([[rounds[j]], alone[j]])
        assert [([one.wanted for one in gpu], [one.units for one in gpu]) for gpu in found] == [
            (both, units) for both, units in expected
        ], seed
        for gpu in found:
            shared += len(gpu) > 1
            for one in gpu:
                others = [(o.wanted, o.units) for o in gpu if o is not one]
                length = sum(latency_ms(gpus.model, one.wanted, one.units, others))
                assert one.round_ms == (pytest.approx(length) if one.wanted.in_turn else None)
        for (number, totals), gpu in zip(gpus.asked_of(found), found, strict=True):
            most = [max(gpus.model.asks[w] for w in one.wanted.services) for one in gpu]
            of_share = sum(own * one.units / UNITS for own, one in zip(most, gpu, strict=True))
            assert (number, *totals) == (len(gpu), pytest.approx(of_share), pytest.approx(0.5 * sum(most)))
    assert shared > 15
    assert refused > 5


def test_as_many_choices_as_check_may_try_are_put_together_and_no_more(monkeypatch):
    model = Model([10.0] * 4, [0.0] * 4)
    rule = TurnRule(np.full(4, 1e3), slots_kept=True)
    gpus = SlowedGpus(model, np.arange(1, 11) * 10.0, 4, 8.0, np.ones(4), np.full(4, 60.0), rule)
    pairs = [Wanted((0, 1), (1, 1), (1.0, 1.0)), Wanted((2, 3), (1, 1), (1.0, 1.0))]
    for most, number in ((4, 1), (3, 2), (2, 2)):
        monkeypatch.setattr(module, "MOST_CHOICES", most)
        assert len(gpus.deal(pairs)) == number
    monkeypatch.setattr(module, "MOST_CHOICES", 1)
    assert gpus.deal(pairs) is None


@pytest.mark.parametrize(
    ("clients", "memory_mib", "number"), [(2, 8.0, 2), (3, 8.0, 2), (4, 8.0, 1), (4, 4.0, 1), (4, 3.9, 2), (4, 0.9, 0)]
)
def test_no_more_rounds_stand_together_than_mps_has_clients_or_memory_has_room(clients, memory_mib, number):
    """Four that need next to nothing, a MiB each; where one has no room there is no answer."""
    model, rule = Model([10.0] * 4, [0.0] * 4), TurnRule(np.full(4, 1e3), slots_kept=True)
    gpus = SlowedGpus(model, np.arange(1, 11) * 10.0, clients, memory_mib, np.ones(4), np.full(4, 60.0), rule)
    found = gpus.deal([Wanted((w,), (1,), (1.0,)) for w in range(4)])
    assert len(found or ()) == number
