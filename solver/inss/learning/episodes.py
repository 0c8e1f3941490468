"""
Plans and actors in the same environment (environment.py): what each comes to over the rates of an evaluation.

The exact plans are those with most sum of h/H at the rates of each ten seconds, which is what the reward counts. Once
they keep their own batches; once BDA decides batches every second on the plan's placement and units, as it does for an
actor: its decisions by the backlog of the moment cause the late tasks.
"""

from collections.abc import Iterator

import numpy as np

from ...performance.interference.prediction import Floats
from ...runtime.progress import report
from ..decision import Decision, batch_times
from ..exact.partition import best_partition
from ..latency import Latencies
from ..rates import STEP_S
from .environment import Environment, Setting, Step
from .training import Evaluated, summed


def exact_plans(latencies: Latencies, rates_rps: Floats, spare: float = 1.0) -> list[Decision | None]:
    """Returns the plan of each ten seconds, None where no decision keeps all limits; rates: (second, model)."""
    plans: list[Decision | None] = []
    known: dict[bytes, Decision | None] = {}
    for rates in rates_rps[::STEP_S]:
        if rates.tobytes() not in known:
            found = best_partition(latencies, rates, weights=1 / latencies.solo_rps, spare=spare)
            known[rates.tobytes()] = None if found is None else found.decision
            report(f"exact plans: {len(known)}")
        plans.append(known[rates.tobytes()])
    return plans


def with_own_batches(setting: Setting, rates_rps: Floats, plans: list[Decision | None]) -> Evaluated | None:
    """Returns what plans come to that keep their batches for ten seconds; None: there is no plan for some rates."""
    return _summed(setting, rates_rps, plans, keeps=True)


def with_batches_of_each_second(setting: Setting, rates_rps: Floats, plans: list[Decision | None]) -> Evaluated | None:
    """Returns what their placements and units come to where BDA decides every second; None as above."""
    return _summed(setting, rates_rps, plans, keeps=False)


def at_random(setting: Setting, rates_rps: Floats, seed: int) -> Evaluated:
    """Returns what drawn GPUs and units come to, drawn anew every second."""
    draw = np.random.default_rng(seed)
    environment = Environment(setting, rates_rps)
    gpus, most = len(setting.gpu_units), int(setting.gpu_units.max())
    steps = []
    while not environment.is_over:
        gpu, units = draw.integers(0, gpus, setting.models), draw.integers(1, most + 1, setting.models)
        steps.append(environment.act(gpu, units))
    return summed(steps)


def _summed(setting: Setting, rates_rps: Floats, plans: list[Decision | None], *, keeps: bool) -> Evaluated | None:
    if not plans or any(one is None for one in plans):
        return None
    return summed(list(_steps(setting, rates_rps, [one for one in plans if one is not None], keeps)))


def _steps(setting: Setting, rates_rps: Floats, plans: list[Decision], keeps: bool) -> Iterator[Step]:
    environment = Environment(setting, rates_rps)
    while not environment.is_over:
        plan = plans[environment.second // STEP_S]
        times = batch_times(setting.latencies, plan.gpu, plan.units)
        batch = plan.batch if keeps else environment.batches(plan.gpu, times)
        yield environment.serve(plan.gpu, times, batch)
