"""Sets of rates on four A100 by gpu-lets' own limits (two shares a GPU, three services a share), plan or proof."""

from functools import cache

import numpy as np

from problems.gpulets import MODELS, RATIO, SHARES, SLO_MS, a100_profiles
from sliceplan.solver.exact.turns.schedulable import Limited
from sliceplan.solver.performance.interference.solo_tables import SoloTable


@cache
def limited():
    """Returns the five services with gpu-lets' factor on their latencies."""
    tables = {profile.model: SoloTable.of(profile) for profile in a100_profiles()}
    rows = {
        share: RATIO * np.array([[tables[model].at(b, share).latency_ms for b in range(1, 33)] for model in MODELS])
        for share in SHARES
    }
    return Limited(rows, np.array(SLO_MS, dtype=np.float64))
