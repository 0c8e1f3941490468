"""
What a layer may take of a model's latency limit, and the cores that it needs for it (VELTAIR, ASPLOS 2022, 4.2).

    quota_l = SLO macs_l / sum macs          need_l = least c with ms_l(c) <= quota_l, else the most that were measured
    average = least c with sum_l ms_l(c) <= SLO         ("model-wise": the model as a whole on one count of cores)

A quota goes by multiplications, not by time, so layers of few multiplications that wait for memory need more cores than
the average. The limit holds on the average count, whatever the quotas say of single layers.
"""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .chain import Chain, Floats, Ints, in_us, refuse_impossible


@dataclass(frozen=True, eq=False)
class Quotas:
    """A chain of layers with a latency limit."""

    chain: Chain
    slo_ms: float
    quota_us: Floats
    """Shape (layer,)."""
    need: Ints
    """Shape (layer,): cores."""
    average: int
    """Cores."""

    @cached_property
    def before_us(self) -> Floats:
        """Shape (layer + 1,): quotas of the layers before each, and of all at the end."""
        return np.concatenate([[0.0], self.quota_us.cumsum()])

    def index_of(self, cores: int) -> int:
        """Returns the number of the greatest measured count that is at most `cores`."""
        return int(np.searchsorted(self.chain.cores, cores, side="right")) - 1


def quotas_of(chain: Chain, slo_ms: float) -> Quotas:
    """Returns a chain's quotas; raises InputError if no count of cores keeps the limit."""
    refuse_impossible(chain, slo_ms)
    return quotas_under_pressure(chain, slo_ms)


def quotas_under_pressure(chain: Chain, slo_ms: float) -> Quotas:
    """Returns a chain's quotas; the average is the most cores where no count keeps the limit."""
    quota = slo_ms * 1000 * chain.macs / chain.macs.sum()
    within = chain.us <= quota[:, None]
    need = np.where(within.any(axis=1), within.argmax(axis=1), len(chain.cores) - 1)
    in_time = chain.total_us <= in_us(slo_ms)
    average = int(in_time.argmax()) if in_time.any() else len(chain.cores) - 1
    return Quotas(chain, slo_ms, quota, chain.cores[need], int(chain.cores[average]))
