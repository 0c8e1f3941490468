"""
Carries a model's coefficients to another GPU type by the ratios of a roofline: an estimate, and marked as one.

A kernel is bound by arithmetic or by memory; which, the coefficients do not say. So the active time (k1, k2, k3, k5)
grows by the greater of two ratios, which is the cautious choice:

    arithmetic   SMs x clock of the measured type over those of the other
    memory       bandwidth of the measured type over that of the other

Scheduling grows as the clock falls. Power is scaled so that at the same utilisation a GPU draws the same part of its
limit; the slope of the frequency likewise. L2 use grows as the cache is smaller. PCIe bandwidth is that of the
generation (16 lanes). None of this was measured on the other type.
"""

from ...model.hardware import Gpu
from ...model.interference import GpuCoefficients, Interference
from ...model.profile import Profile

DIGITS = 7


def carried(profile: Profile, measured_on: Gpu, to: Gpu) -> Profile:
    """
    Returns a profile's interference model for another GPU type, marked as estimated.

    Raises
    ------
    ValueError
        If the profile has no interference model, or one that is an estimate itself.
    InputError
        If the catalogue does not know a figure of one of the types that the ratios need.
    """
    known = profile.interference
    if known is None:
        raise ValueError(f"{profile.model} on {profile.gpu} has no interference coefficients to carry over")
    if known.estimated_from is not None:
        raise ValueError(f"{profile.model} on {profile.gpu} is an estimate from {known.estimated_from} itself")
    return profile.model_copy(
        update={
            "gpu": to.name,
            "provenance": profile.provenance.model_copy(
                update={
                    "method": f"{profile.provenance.method} Estimated for {to.name} by roofline ratios; not measured."
                }
            ),
            "points": (),
            "curves": (),
            "error": None,
            "odd_points": (),
            "neighbours": None,
            "interference": _carried(known, measured_on, to),
        }
    )


def _carried(known: Interference, old: Gpu, new: Gpu) -> Interference:
    clock = old.known("max_clock_mhz") / new.known("max_clock_mhz")
    arithmetic = clock * old.sm_count.value / new.sm_count.value
    memory = old.memory_bandwidth_gb_s.value / new.memory_bandwidth_gb_s.value
    slower = max(arithmetic, memory)
    power = new.tdp_w.value / old.tdp_w.value
    cache = old.known("l2_mb") / new.known("l2_mb")
    k1, k2, k3, k4, k5 = known.model.active
    model = known.model.model_copy(
        update={
            "scheduling_ms": _digits(known.model.scheduling_ms * clock),
            "active": (*(_digits(k * slower) for k in (k1, k2, k3)), k4, _digits(k5 * slower)),
            "power_slope": _digits(known.model.power_slope * power * slower),
            "power_offset_w": _digits(known.model.power_offset_w * power),
            "cache_slope": _digits(known.model.cache_slope * cache * slower),
            "cache_offset": _digits(known.model.cache_offset * cache),
        }
    )
    return known.model_copy(update={"gpu": _gpu(known.gpu, old, new), "model": model, "estimated_from": old.name})


def _gpu(known: GpuCoefficients, old: Gpu, new: Gpu) -> GpuCoefficients:
    clock = new.known("max_clock_mhz") / old.known("max_clock_mhz")
    power = new.tdp_w.value / old.tdp_w.value
    # Each generation of PCIe doubles the bandwidth of the one before.
    pcie = 2 ** (new.known("pcie_gen") - old.known("pcie_gen"))
    return GpuCoefficients(
        max_power_w=new.tdp_w.value,
        idle_power_w=_digits(known.idle_power_w * power),
        max_frequency_mhz=new.known("max_clock_mhz"),
        frequency_mhz_per_w=_digits(known.frequency_mhz_per_w * clock / power),
        scheduling_ms_per_resident=_digits(known.scheduling_ms_per_resident / clock),
        scheduling_ms_offset=_digits(known.scheduling_ms_offset / clock),
        pcie_bytes_per_ms=_digits(known.pcie_bytes_per_ms * pcie),
    )


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
