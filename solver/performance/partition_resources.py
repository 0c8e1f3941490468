"""
What of a GPU a partition has: SMs, memory bandwidth and memory, by the catalogue, and how two partitions compare.

A MIG instance has the bandwidth of its memory slices; a share under MPS has all of the GPU's.
"""

from dataclasses import dataclass
from math import log

from ..model.hardware import Gpu
from ..model.profile import MeasuredPoint


@dataclass(frozen=True)
class Resources:
    """A partition, and what of its GPU it has."""

    mig_profile: str | None
    percent: float | None
    sms: float
    part: float
    """Of the GPU's SMs."""
    bandwidth: float
    """GB/s."""
    memory_mib: float


def distance(old: Resources, new: Resources, measured_on: Gpu, to: Gpu) -> tuple[float, float]:
    """Returns how far a place is from another: by the ratio that counts, then by all of them."""
    found = ratios(old, new, measured_on, to)
    return abs(log(max(found))), sum(abs(log(one)) for one in found)


def ratios(old: Resources, new: Resources, measured_on: Gpu, to: Gpu) -> list[float]:
    """Returns how many times as long a batch takes where each figure that both types have is what binds it."""
    clocks = measured_on.max_clock_mhz, to.max_clock_mhz
    speed = clocks[0].value / clocks[1].value if clocks[0] is not None and clocks[1] is not None else 1.0
    found = [old.bandwidth / new.bandwidth, speed * old.sms / new.sms]
    tensor = measured_on.tensor_fp16_dense_tflops, to.tensor_fp16_dense_tflops
    if tensor[0] is not None and tensor[1] is not None:
        found.append(tensor[0].value * old.part / (tensor[1].value * new.part))
    return found


def resources_of(point: MeasuredPoint, gpu: Gpu) -> Resources:
    """Returns those of what a point was measured on."""
    return share(gpu, point.sm_percent or 100.0) if point.mig_profile is None else instance(gpu, point.mig_profile)


def whole(gpu: Gpu) -> Resources:
    """Returns those of all of a GPU."""
    return share(gpu, 100.0)


def share(gpu: Gpu, percent: float) -> Resources:
    """Returns those of a share under MPS."""
    sms = gpu.sm_count.value * percent / 100
    return Resources(None, percent, sms, percent / 100, gpu.memory_bandwidth_gb_s.value, gpu.memory_mib)


def instance(gpu: Gpu, name: str) -> Resources:
    """Returns those of a MIG instance; ValueError if the GPU type has no such profile."""
    mig = gpu.mig
    size = None if mig is None else mig.profile(name)
    if mig is None or size is None:
        raise ValueError(f"{gpu.name} has no MIG profile {name}")
    sms = gpu.sm_count.value * size.compute_slices / mig.compute_slices if size.sm_count is None else size.sm_count
    part = size.memory_slices / mig.placement_units
    memory = gpu.memory_mib * part if size.memory_mib is None else size.memory_mib
    return Resources(name, None, sms, sms / gpu.sm_count.value, gpu.memory_bandwidth_gb_s.value * part, memory)
