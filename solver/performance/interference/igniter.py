"""
iGniter's model of interference between services that share a GPU by MPS (IEEE TPDS 2023, sec. 3.1).

For the residents of one GPU, with share r in percent and batch size b (t in ms; equation numbers are the paper's):

    t_load = d_load b / B_pcie,   t_feedback = d_feedback b / B_pcie                                 (3)
    t_sch  = (k_sch + D) n_k,     D = 0 when alone, alpha_sch n + beta_sch among n residents         (5, 6, 7)
    k_act  = (k1 b^2 + k2 b + k3) / (r + k4) + k5                                                    (11)
    t_act  = k_act (1 + alpha_cache * sum of c over the others)                                      (8)
    p      = alpha_power b / k_act + beta_power,   c = alpha_cacheutil b / k_act + beta_cacheutil
    f      = F, or F + alpha_f (p_idle + sum of p - P) where that demand exceeds P                   (9, 10)
    t_gpu  = (t_sch + t_act) F / f                                                                   (4)
    t_inf  = t_load + t_gpu + t_feedback,          throughput = b / (t_gpu + t_feedback)             (1, 2)

Power and cache use are not let below 0, which the fitted lines would reach at next to no load. So a resident's
latency rises in the share of any other, and a further resident never lowers one: t_sch, the sum of c and the sum of p
only grow (GpuCoefficients, ModelCoefficients and Interference refuse coefficients for which they would not). In its
own share it need not be monotone: a larger share shortens t_act and raises p, and above P the clock falls for all of
t_gpu. With the published coefficients it falls as long as a GPU is not given away several times over; with a steeper
power slope it rises well before, even alone. Nothing here relies on either.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
from numpy.typing import NDArray

from ...model.interference import GpuCoefficients, Interference, ModelCoefficients
from .prediction import Channels, Floats, Ints, SharedPrediction

LEAST_FREQUENCY_MHZ = 1.0
"""
Eq. 9 is a line and would stop the clock at some demand; here it crawls, so that every latency is finite, but no faster
than F.
"""

BEYOND_ALL = 1e300
"""What a resident asks at most: more would be no number, and nothing keeps an SLO beside it anyway."""

NO_TIME_MS = 1e-300
"""Stands for a time that is not above 0, so that no share is enough for it."""

LEAST_DIVISOR = 1e-9
"""
Least r + k4, in percent. k4 may lie between -1 and 0, and a share below -k4 percent would be worked off in a negative
time by eq. 11; here it is next to endless. Shares above -k4 by so little do not exist.
"""

LOADING = "loading"
SCHEDULING = "scheduling"
SCHEDULING_CONTENTION = "scheduling contention"
ACTIVE = "active"
CACHE_CONTENTION = "cache contention"
THROTTLING = "throttling"
FEEDBACK = "feedback"


@dataclass(frozen=True, eq=False)
class IgniterModel:
    """Coefficients of the workloads on one GPU type; arrays have shape (workload,)."""

    gpu: GpuCoefficients
    load_ms: Floats
    """Time to send the input of one request."""
    feedback_ms: Floats
    kernels: Floats
    scheduling_ms: Floats
    """k_sch n_k."""
    active: Floats
    """k1 to k5, shape (5, workload)."""
    power: Floats
    """Slope in W per request/s and offset in W, shape (2, workload)."""
    cache: Floats
    """Slope in percent of L2 per request/s and offset in percent, shape (2, workload)."""
    sensitivity: Floats
    """alpha_cache."""

    @classmethod
    def of(cls, gpu: GpuCoefficients, models: Sequence[ModelCoefficients]) -> "IgniterModel":
        """Returns the model for workloads that are described one by one."""
        return cls(
            gpu,
            np.array([m.input_bytes / gpu.pcie_bytes_per_ms for m in models]),
            np.array([m.output_bytes / gpu.pcie_bytes_per_ms for m in models]),
            np.array([float(m.kernels) for m in models]),
            np.array([m.scheduling_ms for m in models]),
            np.array([m.active for m in models]).reshape(-1, 5).T,
            np.array([(m.power_slope, m.power_offset_w) for m in models]).reshape(-1, 2).T,
            np.array([(m.cache_slope, m.cache_offset) for m in models]).reshape(-1, 2).T,
            np.array([m.cache_sensitivity for m in models]),
        )

    def restricted_to(self, workloads: Ints) -> "IgniterModel":
        """Returns the model of some of the workloads, in the order given."""
        arrays = {
            field.name: getattr(self, field.name)[..., workloads] for field in fields(self) if field.name != "gpu"
        }
        return replace(self, **arrays)

    def predict(self, workload: Ints, batch: Ints, percent: Floats) -> SharedPrediction:
        """Equations 1 to 11; arguments as for `InterferenceModel.predict`."""
        here = percent > 0
        sizes = batch.astype(np.float64)
        active = self.active_ms(workload, batch, percent)
        power, cache = self._demands(workload, sizes, active, here)
        crowd = self._crowd_ms(workload, here.sum(axis=-1, keepdims=True))
        contention = self._contention_ms(workload, active, cache.sum(axis=-1, keepdims=True) - cache)
        demand = self.gpu.idle_power_w + power.sum(axis=-1)
        frequency = self.frequency_mhz(demand)
        slow = (self.gpu.max_frequency_mhz / frequency)[..., None]
        scheduling = self.scheduling_ms[workload]
        unthrottled = scheduling + crowd + active + contention
        load, feedback = self.load_ms[workload] * sizes, self.feedback_ms[workload] * sizes
        gpu_ms = unthrottled * slow
        latency = load + gpu_ms + feedback
        throughput = np.divide(1000.0 * sizes, gpu_ms + feedback, out=np.zeros_like(gpu_ms), where=here)
        causes = {
            LOADING: load,
            SCHEDULING: scheduling,
            SCHEDULING_CONTENTION: crowd,
            ACTIVE: active,
            CACHE_CONTENTION: contention,
            THROTTLING: gpu_ms - unthrottled,
            FEEDBACK: feedback,
        }
        return SharedPrediction(
            np.where(here, latency, 0.0),
            throughput,
            {cause: np.where(here, part, 0.0) for cause, part in causes.items()},
            frequency,
            demand,
        )

    def active_ms(self, workload: Ints, batch: Ints, percent: Floats) -> Floats:
        """Returns k_act, the active time when alone (eq. 11); 0 where the share is 0."""
        k1, k2, k3, k4, k5 = self.active[:, workload]
        work = (k1 * batch + k2) * batch + k3
        active: Floats = np.where(percent > 0, work / np.maximum(percent + k4, LEAST_DIVISOR) + k5, 0.0)
        return active

    def among(
        self, workload: Ints, batch: Ints, percent: Floats, *, totals: Channels, residents: Ints
    ) -> tuple[Floats, Floats]:
        """
        Returns latency (eq. 1) and throughput (eq. 2) on a GPU whose residents ask for so much together.

        The cache that others use is the total less its own, and not below 0, which lower limits of totals may be.

        Parameters
        ----------
        percent
            Above 0.
        totals
            Sums of `demands_at` over all residents, itself included.
        """
        power, cache = totals
        active = self.active_ms(workload, batch, percent)
        own = self.demands_at(workload, self.ability_rps(workload, batch, percent))[1]
        contention = self._contention_ms(workload, active, np.maximum(cache - own, 0.0))
        slow = self.gpu.max_frequency_mhz / self.frequency_mhz(self.gpu.idle_power_w + power)
        gpu_ms = (self.scheduling_ms[workload] + self._crowd_ms(workload, residents) + active + contention) * slow
        feedback = self.feedback_ms[workload] * batch
        return self.load_ms[workload] * batch + gpu_ms + feedback, 1000.0 * batch / (gpu_ms + feedback)

    def least_percent(
        self, workload: Ints, batch: Ints, percent: Floats, latency_ms: Floats, required_rps: Floats
    ) -> Floats:
        """
        Returns the share that each resident needs at least while the others keep theirs; inf: none is enough.

        Its own share counts towards the GPU's power as given, so that for shares no greater than those of a feasible
        allocation the result is no greater than that allocation either.

        Parameters
        ----------
        latency_ms, required_rps
            Shape (..., resident): greatest latency, least throughput.
        """
        here = percent > 0
        sizes = batch.astype(np.float64)
        power, cache = self._demands(workload, sizes, self.active_ms(workload, batch, percent), here)
        least = self.percent_needed(
            workload,
            batch,
            latency_ms,
            required_rps,
            surroundings=self.surroundings((power, cache)),
            residents=here.sum(axis=-1, keepdims=True),
        )
        return np.where(here, least, 0.0)

    def percent_needed(
        self,
        workload: Ints,
        batch: Ints,
        latency_ms: Floats,
        required_rps: Floats,
        *,
        surroundings: Channels,
        residents: Ints,
    ) -> Floats:
        """
        Returns the share that keeps an SLO in given surroundings; inf: none is enough.

        It rises with the last two arguments, so lower limits of them give a lower limit of the share.
        All arguments are broadcast against each other.

        Parameters
        ----------
        surroundings
            As `surroundings` gives them.
        residents
            Number of residents, itself included.
        """
        demand_w, others_cache = surroundings
        sizes = np.asarray(batch, dtype=np.float64)
        slow = self.gpu.max_frequency_mhz / self.frequency_mhz(demand_w)
        budget = self.gpu_budget_ms(workload, batch, latency_ms, required_rps)
        unthrottled = budget / slow - self.scheduling_ms[workload] - self._crowd_ms(workload, residents)
        with np.errstate(over="ignore"):  # beyond all numbers no time is left
            longest = unthrottled / (1.0 + self.sensitivity[workload] * others_cache)
        k1, k2, k3, k4, k5 = self.active[:, workload]
        room = longest - k5
        work = np.broadcast_to((k1 * sizes + k2) * sizes + k3, room.shape)
        return self._share(np.divide(work, room, out=np.full_like(room, np.inf), where=room > 0), k4)

    def percent_needed_among(
        self, workload: Ints, batch: Ints, budget_ms: Floats, *, totals: Channels, residents: Ints
    ) -> Floats:
        """
        Returns the least share with which a batch is ready in time on a GPU whose residents ask for so much together.

        With Y = budget f / F - k_sch n_k - n_k D, what is left for t_act, and c = max(0, g / k + h) for its own use of
        the cache at k_act = k (g = 1000 b times the slope, h the offset), it is in time (eq. 4 and 8) exactly if

            k (1 + alpha max(0, C - c)) <= Y

        so if k <= Y, and k (1 + alpha C) <= Y or k (1 + alpha (C - h)) - alpha g <= Y: for all k up to a greatest one,
        so from a least share on. What it adds to the power itself is part of `totals`.

        Parameters
        ----------
        budget_ms
            Of `gpu_budget_ms`.
        totals
            Sums of `demands_at` over all residents, itself included.
        residents
            Number of residents, itself included.
        """
        power, cache = totals
        clock = self.frequency_mhz(self.gpu.idle_power_w + power) / self.gpu.max_frequency_mhz
        left = budget_ms * clock - (self.scheduling_ms[workload] + self._crowd_ms(workload, residents))
        sensitivity = self.sensitivity[workload]
        slope, offset = self.cache[:, workload]
        k1, k2, k3, k4, k5 = self.active[:, workload]
        work = (k1 * batch + k2) * batch + k3
        with np.errstate(invalid="ignore", over="ignore"):  # what is beyond all numbers says nothing
            steeper = 1.0 + sensitivity * (cache - offset)
            shallower = np.divide(1.0, steeper, out=np.full_like(steeper, np.inf), where=steeper > 0)
            own = (left + sensitivity * (1000.0 * slope * batch)) * shallower
            longest = np.maximum(np.where(np.isnan(own), np.inf, own), left * (1.0 / (1.0 + sensitivity * cache)))
            room = np.minimum(left, longest) - k5
            return self._share(work / np.maximum(room, NO_TIME_MS), k4)

    def surroundings(self, demands: Channels) -> Channels:
        """
        Returns the power demand of the GPU in W and the use of the L2 cache by the others in percent.

        Parameters
        ----------
        demands
            Of `demands_at`, shape (..., resident).
        """
        power, cache = demands
        demand_w = self.gpu.idle_power_w + power.sum(axis=-1, keepdims=True)
        return demand_w, cache.sum(axis=-1, keepdims=True) - cache

    def ability_rps(self, workload: Ints, batch: Ints, percent: Floats) -> Floats:
        """Returns 1000 b / k_act, the throughput if only k_act took time; 0 where the share is 0."""
        active = self.active_ms(workload, batch, percent)
        ability: Floats = np.divide(1000.0 * batch, active, out=np.zeros_like(active), where=active > 0)
        return ability

    def key(self, workload: int) -> tuple[float, ...]:
        """Returns the coefficients of a workload; equal for workloads of one model."""
        rows = (self.load_ms, self.feedback_ms, self.kernels, self.scheduling_ms, self.sensitivity)
        columns = (self.active, self.power, self.cache)
        return (*(float(row[workload]) for row in rows), *(x for c in columns for x in c[:, workload].tolist()))

    def demands_at(self, workload: Ints, ability_rps: Floats) -> tuple[Floats, Floats]:
        """Returns power in W and cache use in percent at an ability."""
        with np.errstate(over="ignore"):
            power, cache = (
                np.clip(line[0, workload] * ability_rps + line[1, workload], 0.0, BEYOND_ALL)
                for line in (self.power, self.cache)
            )
        return power, cache

    def gpu_budget_ms(self, workload: Ints, batch: Ints, latency_ms: Floats, required_rps: Floats) -> Floats:
        """Returns the longest t_gpu with which a resident keeps its latency (eq. 1) and its throughput (eq. 2)."""
        feedback = self.feedback_ms[workload] * batch
        by_rate = np.divide(1000.0 * batch, required_rps, out=np.full_like(feedback, np.inf), where=required_rps > 0)
        budget: Floats = np.minimum(latency_ms - self.load_ms[workload] * batch, by_rate) - feedback
        return budget

    def frequency_mhz(self, demand_w: Floats) -> Floats:
        """Returns the frequency at a power demand (eq. 9)."""
        over = np.maximum(demand_w - self.gpu.max_power_w, 0.0)
        with np.errstate(over="ignore"):  # a fall beyond all numbers is one to the least frequency
            frequency: Floats = self.gpu.max_frequency_mhz + self.gpu.frequency_mhz_per_w * over
        return np.maximum(frequency, min(LEAST_FREQUENCY_MHZ, self.gpu.max_frequency_mhz))

    def _share(self, divisor: Floats, k4: Floats) -> Floats:
        """Returns the least share whose r + k4, at least `LEAST_DIVISOR`, is so much; 0 or less: any is enough."""
        share = np.asarray(divisor - k4, dtype=np.float64)
        if self.active[3].min(initial=0.0) < 0.0:
            share = np.where(divisor > LEAST_DIVISOR, share, np.minimum(-k4, 0.0))
        return share

    def _crowd_ms(self, workload: Ints, residents: Ints) -> Floats:
        """Returns n_k D, what the others add to the scheduling delay (eq. 5 and 6), at most `BEYOND_ALL`."""
        with np.errstate(over="ignore"):  # a delay beyond all numbers is one that nothing keeps an SLO with
            per_kernel = self.gpu.scheduling_ms_per_resident * residents + self.gpu.scheduling_ms_offset
            crowd = self.kernels[workload] * np.where(residents > 1, per_kernel, 0.0)
        return np.asarray(np.minimum(crowd, BEYOND_ALL), dtype=np.float64)

    def _contention_ms(self, workload: Ints, active: Floats, others_cache: Floats) -> Floats:
        """Returns what the active time grows by for the cache that others use (eq. 8), at most `BEYOND_ALL`."""
        with np.errstate(over="ignore"):
            by_percent = np.minimum(active * self.sensitivity[workload], BEYOND_ALL)
            contention: Floats = np.minimum(by_percent * others_cache, BEYOND_ALL)
        return contention

    def _demands(self, workload: Ints, sizes: Floats, active: Floats, here: NDArray[np.bool_]) -> tuple[Floats, Floats]:
        """Returns power and cache use of each resident: none where it is not, or a fit has no active time left."""
        ability = np.divide(1000.0 * sizes, active, out=np.zeros_like(active), where=here & (active != 0))
        power, cache = self.demands_at(workload, ability)
        return np.where(here, power, 0.0), np.where(here, cache, 0.0)


def alone(interference: Interference, batch: Ints, percent: float = 100.0) -> SharedPrediction:
    """Returns what a model achieves alone at a share, for each batch size of shape (batch,); shape (batch, 1)."""
    model = IgniterModel.of(interference.gpu, [interference.model])
    first = np.zeros((len(batch), 1), dtype=np.int64)
    return model.predict(first, batch[:, None], np.full(first.shape, percent))
