"""Of requests at random `check` lets turns under MPS be asked for what their slots keep by definition, and no more."""

from itertools import product
from random import Random

import pytest
from oracles import igniter_scalar
from oracles.slot_chain import STEPS, THOUSAND, greatest_load, part_late
from problems.instance_turn_draws import SHARES, turning_on_instances
from problems.mps_draws import small_gpus
from problems.slowed_turn_draws import slowed_turns

from sliceplan.solver.allocation.assembly import UNKNOWN_BOUND
from sliceplan.solver.allocation.rounds import Round, RoundsGpu, Turn, assemble_rounds
from sliceplan.solver.api import check
from sliceplan.solver.model.plan import Search
from sliceplan.solver.model.stop_reason import StopReason
from sliceplan.solver.performance.resolve import resolve

ENDED = Search(stopped=StopReason.TIME_LIMIT, time_limit_s=1, solver=None)

LATE = ("promised_rps", "takes", "may wait")
"""Words of a turn that is asked for too much."""


def with_copies(problem, many):
    """Returns the problem with each service so often, by names of their own: who takes turns has one on a GPU."""
    copies = [one.model_copy(update={"name": f"{one.name}-{i}"}) for i in range(many) for one in problem.workloads]
    return problem.model_copy(update={"workloads": tuple(copies)})


def drawn_rounds(draw, percents, batches_of, latency_of):
    """Returns rounds on shares, as long as their turns take if alone, or longer; no service has two turns."""
    waiting = draw.sample(range(len(batches_of)), len(batches_of))
    rounds = []
    for percent in percents:
        who = [waiting.pop() for _ in range(draw.randint(1, 3)) if waiting]
        turns = [Turn(w, draw.choice(batches_of[w])) for w in who]
        if turns and all(latency_of(one, percent) is not None for one in turns):
            taken_ms = sum(latency_of(one, percent) for one in turns)
            rounds.append(Round(percent, tuple(turns), taken_ms * draw.choice((1.0, draw.uniform(1.0, 2.0)))))
    return rounds


def judged(problem, profiles, gpu, worst_ms, draw):
    """
    Returns how many rates `check` accepts and how many it does not, all of them as the definition has it.

    `worst_ms`: (share, turn) -> how long a batch is executed at worst.
    """
    settings, counts = problem.settings, [0, 0]
    plan = assemble_rounds(resolve(problem, profiles), [gpu], planner="drawn", bound=UNKNOWN_BOUND, search=ENDED)
    for i, share in enumerate(plan.gpus[0].partitions):
        taken = [worst_ms[i, k] for k in range(len(share.serves))]
        for k, turn in enumerate(share.serves):
            assert turn.latency_ms == pytest.approx(taken[k], rel=1e-6)
            slo_ms = next(one.slo_ms for one in problem.workloads if one.name == turn.workload)
            slack = (slo_ms - (sum(taken) if settings.turns == "any" else taken[k])) / share.duty_cycle_ms
            load = greatest_load(turn.batch, int(slack * THOUSAND * (1 + 1e-9)), settings.quantile)
            beyond = next((one for one in STEPS if one > load), 1.0)
            if load:
                assert part_late(turn.batch, load, slack) <= 1 - settings.quantile
            if slack >= 1.001 and beyond < 1:
                assert part_late(turn.batch, beyond, slack - 0.001) > 1 - settings.quantile
            for asked in (load * (1 - 1e-5), load * (1 + 1e-5), draw.uniform(0, 1.2) * max(load, 0.01), beyond):
                if asked:
                    said = list(
                        words_of(problem, profiles, plan, i, k, 1000 * turn.batch * asked / share.duty_cycle_ms)
                    )
                    assert bool(said) is (asked > load), (said, asked, load, turn)
                    counts[asked > load] += 1
    return counts


def words_of(problem, profiles, plan, i, k, rate_rps):
    """Yields what `check` says of a turn that is asked for a rate, and promised no more."""
    [gpu] = plan.gpus
    share, name = gpu.partitions[i], gpu.partitions[i].serves[k].workload
    turn = share.serves[k].model_copy(update={"rate_rps": rate_rps, "promised_rps": rate_rps})
    serves = (*share.serves[:k], turn, *share.serves[k + 1 :])
    parts = (*gpu.partitions[:i], share.model_copy(update={"serves": serves}), *gpu.partitions[i + 1 :])
    changed = plan.model_copy(update={"gpus": (gpu.model_copy(update={"partitions": parts}),)})
    for wrong in check(problem, changed, profiles):
        if f"{gpu.id} {name}" == str(wrong).split(": ")[0] and any(one in wrong.message for one in LATE):
            yield str(wrong)


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_on_shares_of_which_tables_are_known(turns):
    accepted, refused = 0, 0
    for seed in range(20):
        draw = Random(seed)
        problem, profiles = turning_on_instances(seed, percentile=True, kinds=[["mps"]])
        problem = with_copies(problem, 3)
        problem = problem.model_copy(update={"settings": problem.settings.model_copy(update={"turns": turns})})
        tables = {one.model: {(p.sm_percent, p.batch): p.latency_ms for p in one.points} for one in profiles}
        models = [one.model for one in problem.workloads]
        batches = [sorted({batch for percent, batch in tables[model] if percent}) for model in models]

        def latency_of(turn, percent, tables=tables, models=models):
            return tables[models[turn.workload]].get((percent, turn.batch))

        percents = draw.choice((SHARES[2:], SHARES[:2], SHARES[:1] * 3, SHARES[1:2] * 2))
        rounds = drawn_rounds(draw, percents, batches, latency_of)
        if rounds:
            worst = {
                (i, k): latency_of(t, one.percent) for i, one in enumerate(rounds) for k, t in enumerate(one.turns)
            }
            gpu = RoundsGpu(problem.fleet[0].gpu, tuple(rounds))
            own = judged(problem, profiles, gpu, worst, draw)
            accepted, refused = accepted + own[0], refused + own[1]
    assert accepted > 30
    assert refused > 30


@pytest.mark.parametrize("turns", ["fixed", "any"])
def test_on_shares_that_slow_each_other(turns):
    accepted, refused = 0, 0
    for seed in range(12):
        draw = Random(seed)
        with small_gpus():
            asked = {"latency": "percentile", "quantile": draw.choice((0.9, 0.95, 0.99)), "turns": turns}
            problem, profiles, units = slowed_turns(seed, **asked)
            problem = with_copies(problem, 2)
            of_model = {one.model: one.interference for one in profiles}
            known = [of_model[one.model] for one in problem.workloads]
            percents = [100 * own / units for own in draw.choice(((units,), (1, units - 1), (1, 1, units - 2)))]

            def alone_ms(turn, percent, known=known):
                running = [(known[turn.workload].model, turn.batch, percent)]
                return igniter_scalar.predict(known[0].gpu, running)[0].latency_ms

            rounds = drawn_rounds(draw, percents, [one.batch_sizes for one in problem.workloads], alone_ms)
            worst = {}
            for together in product(*(range(len(one.turns)) for one in rounds)):
                chosen = [(one.turns[k], one.percent) for one, k in zip(rounds, together, strict=True)]
                running = [(known[turn.workload].model, turn.batch, percent) for turn, percent in chosen]
                found = igniter_scalar.predict(known[0].gpu, running)
                for j, (k, one) in enumerate(zip(together, found, strict=True)):
                    worst[j, k] = max(worst.get((j, k), 0.0), one.latency_ms)
            own = judged(problem, profiles, RoundsGpu(problem.fleet[0].gpu, tuple(rounds)), worst, draw)
            accepted, refused = accepted + own[0], refused + own[1]
    assert accepted > 12
    assert refused > 12
