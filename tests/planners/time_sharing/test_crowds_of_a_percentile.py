"""What services need at least of shares beside so many others, of a percentile: beside rounds on whole GPUs."""

from itertools import product
from random import Random

import numpy as np
from oracles import igniter_scalar
from problems.mps_draws import small_gpus
from problems.slowed_turn_draws import slowed_turns

from sliceplan.solver.performance.resolve import resolve
from sliceplan.solver.performance.turns.turn_rule import turn_rule
from sliceplan.solver.planners.exact_plans.slowed_shares import ENOUGH_S, at_best, crowds_of


def drawn_gpu(draw, units, services):
    """Returns shares, each its units and a round of services with indices of their batches."""
    left, shares = units, []
    while left and (not shares or draw.random() < 0.8):
        own = draw.randint(1, left)
        left -= own
        shares.append((own, [(w, draw.random()) for w in draw.sample(range(services), draw.randint(1, services))]))
    return shares


def worst_ms(known, mps, shares):
    """Returns the longest latency of each turn over all choices of who runs at once, by (share, turn)."""
    worst = {}
    for together in product(*(range(len(turns)) for _, turns in shares)):
        running = [
            (known[turns[k][0]].model, turns[k][1], 100 * units / mps.capacity_units)
            for (units, turns), k in zip(shares, together, strict=True)
        ]
        for j, (k, one) in enumerate(zip(together, igniter_scalar.predict(known[0].gpu, running), strict=True)):
            worst[j, k] = max(worst.get((j, k), 0.0), one.latency_ms)
    return worst


def test_no_turn_beside_others_takes_less_of_its_share_for_what_it_carries():
    """Property: of random rounds, as long as their turns take, or longer where slots are kept."""
    seen, several, nearest = 0, 0, np.inf
    for seed in range(24):
        draw = Random(seed)
        with small_gpus():
            turns_kept = draw.choice(("fixed", "any"))
            problem, profiles, units = slowed_turns(seed, latency="percentile", quantile=0.9, turns=turns_kept)
            resolved, rule = resolve(problem, profiles), turn_rule(problem)
            [mps] = resolved.mps.values()
            if not mps.usable.all():
                continue
            crowds = crowds_of(resolved, resolved.fleet[0], rule, ENOUGH_S)
            assert len(crowds.shares) == min(units, mps.clients)
            coefficients = {one.model: one.interference for one in profiles}
            known = [coefficients[one.model] for one in problem.workloads]
            for _ in range(120):
                shares = [
                    (own, [(w, int(mps.batches[w][int(part * len(mps.batches[w]))])) for w, part in turns])
                    for own, turns in drawn_gpu(draw, units, len(known))
                ]
                worst = worst_ms(known, mps, shares)
                for j, (own, turns) in enumerate(shares):
                    taken = [worst[j, k] for k in range(len(turns))]
                    # In any order the bound is of rounds as long as their turns: longer ones carry no more.
                    longer = draw.choice((1.0, draw.uniform(1, 3))) if turns_kept == "fixed" else 1.0
                    round_ms = sum(taken) * longer
                    after = taken if turns_kept == "fixed" else [sum(taken)] * len(taken)
                    for k, (w, batch) in enumerate(turns):
                        [carried] = rule.carried_rps(
                            np.array([w]), np.array([batch]), np.array([after[k]]), np.array([round_ms])
                        )
                        if carried > 0:
                            part = min(1.0, carried / resolved.required_rps[w])
                            need = taken[k] / round_ms / part
                            least = crowds.shares[len(shares) - 1, own - 1, w]
                            assert need >= least * (1 - 1e-9), (seed, j, k)
                            seen += 1
                            several += len(shares) > 1
                            nearest = min(nearest, need / least)
    assert seen > 100
    assert several > 30
    assert nearest < 1.3


def test_beside_more_others_services_carry_no_more_and_in_little_time_all_count_as_alone():
    fewer = 0
    for seed in range(8):
        with small_gpus():
            problem, profiles, units = slowed_turns(seed, latency="percentile", quantile=0.9)
            resolved, rule = resolve(problem, profiles), turn_rule(problem)
            [mps] = resolved.mps.values()
            before = at_best(resolved, mps, 1)
            for number in range(2, units + 1):
                beside = at_best(resolved, mps, number)
                assert np.all(beside.alone_rps <= before.alone_rps * (1 + 1e-9))
                assert np.all(beside.latency_ms >= before.latency_ms * (1 - 1e-9))
                fewer += np.any(beside.alone_rps < before.alone_rps * (1 - 1e-6))
                before = beside
            assert len(crowds_of(resolved, resolved.fleet[0], rule, ENOUGH_S / 2).shares) == 1
    assert fewer
