"""Sets of rates on four A100 by gpu-lets' own limits (two shares a GPU, three services a share), plan or proof."""

from functools import cache

import numpy as np

from problems.gpulets import MODELS, RATIO, SHARES, SLO_MS, a100_profiles
from sliceplan.solver.exact.turns.contents import all_sets, contents_of
from sliceplan.solver.exact.turns.program import GpuType, bound_of, solve_turns
from sliceplan.solver.performance.interference.solo_tables import SoloTable

DIVISIONS = ((100,), (80, 20), (60, 40), (50, 50))
SLO = np.array(SLO_MS, dtype=np.float64)
GPUS = 4


@cache
def latencies():
    """Returns latencies with gpu-lets' factor, share -> shape (model, batch)."""
    tables = {profile.model: SoloTable.of(profile) for profile in a100_profiles()}
    return {
        share: RATIO * np.array([[tables[model].at(b, share).latency_ms for b in range(1, 33)] for model in MODELS])
        for share in SHARES
    }


@cache
def every_content():
    """Returns the contents of each share at any rates."""
    sets = list(all_sets(range(len(MODELS)), 3))
    return {share: contents_of(one, SLO, sets, slots_kept=True) for share, one in latencies().items()}


def decided(rates):
    """Returns whether four GPUs serve the rates, and whether the bound without the program says that they do not."""
    on = [i for i, rate in enumerate(rates) if rate]
    rate = np.array([rates[i] for i in on], dtype=np.float64)
    gpu = GpuType("a100", 1.0, None, DIVISIONS, {share: one[on] for share, one in latencies().items()})
    bound = bound_of([gpu], SLO[on], rate, 10)
    if bound > GPUS * (1 + 1e-9):
        return False, True
    offered = {}
    for share, every in every_content().items():
        mine = ~np.any(np.delete(every.batch, on, axis=1) > 0, axis=1)
        own = type(every)(every.batch[mine][:, on], every.capacity_rps[mine][:, on], every.round_ms[mine])
        offered["a100", share] = own.at_rates(rate)
    answer = solve_turns([gpu], offered, rate, bound, time_limit_s=600)
    assert answer.end == "optimal"
    return answer.cost <= GPUS, False
