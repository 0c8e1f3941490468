"""iGniter's equations 1 to 11 and its algorithms, one number at a time: what the vectorised code must equal."""

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Figures:
    """What the equations give for one resident."""

    latency_ms: float
    throughput_rps: float


def predict(gpu, residents):
    """Returns the figures of each resident; residents are (coefficients, batch, percent)."""
    n = len(residents)
    delta = gpu.scheduling_ms_per_resident * n + gpu.scheduling_ms_offset if n > 1 else 0.0  # (6)
    active, power, cache = [], [], []
    for c, b, r in residents:
        k1, k2, k3, k4, k5 = c.active
        share = r + k4 if r + k4 > 1e-9 else 1e-9  # next to none where k4 is below 0
        k_act = (k1 * b * b + k2 * b + k3) / share + k5  # (11)
        active.append(k_act)
        ability = 1000 * b / k_act if k_act else 0.0  # a fit may have no time left at a batch size
        power.append(max(0.0, c.power_slope * ability + c.power_offset_w))
        cache.append(max(0.0, c.cache_slope * ability + c.cache_offset))
    demand = gpu.idle_power_w + sum(power)  # (10)
    frequency = gpu.max_frequency_mhz  # (9)
    if demand > gpu.max_power_w:
        frequency = max(
            min(1.0, gpu.max_frequency_mhz), frequency + gpu.frequency_mhz_per_w * (demand - gpu.max_power_w)
        )
    figures = []
    for i, (c, b, _) in enumerate(residents):
        t_load = c.input_bytes * b / gpu.pcie_bytes_per_ms  # (3)
        t_feedback = c.output_bytes * b / gpu.pcie_bytes_per_ms
        t_sch = c.scheduling_ms + delta * c.kernels  # (5)
        t_act = active[i] * (1 + c.cache_sensitivity * (sum(cache) - cache[i]))  # (8)
        t_gpu = (t_sch + t_act) / (frequency / gpu.max_frequency_mhz)  # (4)
        figures.append(Figures(t_load + t_gpu + t_feedback, 1000 * b / (t_gpu + t_feedback)))  # (1), (2)
    return figures


def appropriate_batch(c, gpu, limit_ms, rate_rps):
    """Eq. 17, within the measured 1 to 32."""
    rate = rate_rps / 1000
    bandwidth = gpu.pcie_bytes_per_ms
    return min(32, math.ceil(limit_ms * rate * bandwidth / (bandwidth + rate * c.input_bytes) - 1e-9))


def lower_bound_units(c, gpu, limit_ms, batch, unit):
    """Eq. 18, in units."""
    k1, k2, k3, k4, k5 = c.active
    gamma = k1 * batch * batch + k2 * batch + k3
    delta = limit_ms - (c.input_bytes + c.output_bytes) * batch / gpu.pcie_bytes_per_ms - k5 - c.scheduling_ms
    return math.ceil((gamma / delta - k4) / unit - 1e-9)


def allocated(gpu, residents, limits, start, unit, most):
    """Algorithm 2: one unit more for everyone who is too slow, until nobody is; None: they do not fit."""
    units = list(start)
    while sum(units) <= most:
        figures = predict(gpu, [(c, b, u * unit) for (c, b), u in zip(residents, units, strict=True)])
        slow = [f.latency_ms > limit * (1 + 1e-9) for f, limit in zip(figures, limits, strict=True)]
        if not any(slow):
            return units
        units = [u + s for u, s in zip(units, slow, strict=True)]
    return None


def igniter(gpu, workloads, unit, most):
    """
    Algorithm 1. Workloads are (coefficients, limit_ms, rate_rps), each for one GPU.

    Returns the GPUs, each a list of (workload, units).
    """
    batch = [appropriate_batch(c, gpu, limit, rate) for c, limit, rate in workloads]
    low = [lower_bound_units(c, gpu, limit, b, unit) for (c, limit, _), b in zip(workloads, batch, strict=True)]
    gpus = []
    for w in sorted(range(len(workloads)), key=lambda w: -low[w]):
        best = None
        for host in gpus:
            members = [i for i, _ in host] + [w]
            units = allocated(
                gpu,
                [(workloads[i][0], batch[i]) for i in members],
                [workloads[i][1] for i in members],
                [u for _, u in host] + [low[w]],
                unit,
                most,
            )
            if units is None:
                continue
            increase = sum(units) - sum(u for _, u in host)
            if best is None or increase < best[0]:
                best = increase, host, list(zip(members, units, strict=True))
        if best is None:
            gpus.append([(w, low[w])])
        else:
            best[1][:] = best[2]
    return gpus
