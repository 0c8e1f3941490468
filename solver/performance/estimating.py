"""
Carries a profile to another GPU type by figures of the catalogue: an estimate, and marked as one.

A partition (a MIG instance, a share of the SMs, a whole GPU) has SMs, memory bandwidth and memory. A kernel is bound by
arithmetic or by memory; which, a profile does not say. So a batch takes longer by the greatest of these ratios of the
measured partition to the other one, which is the cautious choice:

    SMs x clock          and, where both types have it, FP16 tensor throughput by part of the SMs
    memory bandwidth     of a MIG instance by its memory slices; at a share all of the GPU's

What does not shrink with more SMs, the time of the smallest batch (the curve's floor), is never made shorter. Each
partition is carried from that measured one that is nearest to it by this ratio. Then a margin is added to every time:
nothing was measured on the other type.

A batch is taken to fit where it fitted into no more memory, or where its memory is known. What fits nowhere by that is
left out, so a partition with less memory than any that was measured is: nothing says that the model fits there.

Under MPS beside others the coefficients are carried as interference/roofline.py says.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ..model.errors import Finding, InputError
from ..model.hardware import Gpu
from ..model.interference import Interference
from ..model.profile import Estimate, MeasuredPoint, Profile, SaturatingCurve
from .interference.igniter import alone
from .interference.roofline import carried
from .partition_resources import Resources, distance, instance, ratios, resources_of, share, whole
from .saturating import batch_time_ms

MARGIN = 0.25
"""Part that is added to estimated times where nothing else is asked for."""

DIGITS = 7

SHARES = (10, 20, 30, 40, 50, 60, 70, 80, 90, 100)
"""In percent: where coefficients are read off to carry them to MIG instances."""


@dataclass(frozen=True)
class _Line:
    """What was measured on one place with one number of processes: a curve, or points by rising batch size."""

    place: Resources
    processes: int
    curve: SaturatingCurve | None = None
    points: tuple[MeasuredPoint, ...] = ()


def estimated(profile: Profile, measured_on: Gpu, to: Gpu, margin: float = MARGIN) -> Profile:
    """
    Returns a profile for another GPU type, each part that can be carried there marked as estimated.

    Parameters
    ----------
    margin
        Part that is added to every time.

    Raises
    ------
    InputError
        If nothing of the profile can be carried: it is an estimate itself, or nothing says that the model fits.
    """
    lines = _lines(profile, measured_on)
    interference = _interference(profile, measured_on, to, margin)
    mig = [line for name in _sizes(to) for line in _carried(lines, measured_on, to, instance(to, name), margin)]
    shares = _shares(profile, lines, measured_on, to, margin) if interference is None or _has_shares(profile) else ()
    curves = tuple(line.curve for line in mig if line.curve is not None)
    points = tuple(point for line in mig for point in line.points)
    if not (interference or mig or shares):
        message = f"cannot be estimated from {profile.model} on {measured_on.name}: {_why_not(profile)}"
        raise InputError([Finding(to.name, profile.model, message)])
    mark = Estimate(measured_on=measured_on.name, margin=margin)
    method = f"{profile.provenance.method} Estimated for {to.name} by roofline ratios; not measured."
    method += f" {margin:.0%} was added to the times." if margin else ""
    return Profile(
        model=profile.model,
        gpu=to.name,
        provenance=profile.provenance.model_copy(update={"method": method}),
        points=(*points, *shares),
        curves=curves,
        error=profile.error if curves else None,
        interference=interference,
        mig_estimate=mark if curves or points else None,
        share_estimate=mark if shares else None,
    )


def nearest(model: str, to: Gpu, known: Iterable[Profile], catalogue: Mapping[str, Gpu]) -> list[Profile]:
    """Returns the measured profiles of a model on other GPU types, the one on the most alike type first."""
    own = [
        one for one in known if one.model == model and one.gpu != to.name and one.gpu in catalogue and _is_measured(one)
    ]
    return sorted(own, key=lambda one: distance(whole(catalogue[one.gpu]), whole(to), catalogue[one.gpu], to)[::-1])


def _is_measured(profile: Profile) -> bool:
    return profile.quality != "estimated"


def _why_not(profile: Profile) -> str:
    if not _is_measured(profile):
        return "it is an estimate itself"
    return "no partition there has as much memory as the model was measured with"


def _has_shares(profile: Profile) -> bool:
    return bool(profile.share_points) and profile.share_estimate is None


def _lines(profile: Profile, gpu: Gpu) -> list[_Line]:
    """Returns what was measured, on MIG instances if there is anything, else at shares."""
    if profile.curves and profile.mig_estimate is None:
        return [_Line(instance(gpu, one.mig_profile), one.processes, one) for one in profile.curves]
    if profile.mig_points and profile.mig_estimate is None:
        return _of_points(profile.mig_points, gpu)
    if _has_shares(profile):
        return _of_points(profile.share_points, gpu)
    if profile.interference is not None and profile.interference.estimated_from is None:
        return _of_points(_alone(profile.interference), gpu)
    return []


def _of_points(points: Iterable[MeasuredPoint], gpu: Gpu) -> list[_Line]:
    found: dict[tuple[Resources, int], list[MeasuredPoint]] = {}
    for point in points:
        found.setdefault((resources_of(point, gpu), point.processes), []).append(point)
    return [
        _Line(place, processes, points=tuple(sorted(own, key=lambda point: point.batch)))
        for (place, processes), own in found.items()
    ]


def _alone(known: Interference) -> list[MeasuredPoint]:
    """Returns what coefficients give of a model alone, within what was measured."""
    extent = known.measured
    batch = np.arange(extent.min_batch, extent.max_batch + 1, dtype=np.int64)
    found = []
    for percent in (one for one in SHARES if extent.min_percent <= one <= extent.max_percent):
        figures = alone(known, batch, float(percent))
        found += [
            MeasuredPoint(
                sm_percent=percent,
                batch=size,
                processes=1,
                latency_ms=ms,
                throughput_rps=rps,
                memory_mib=known.memory_mib,
            )
            for size, ms, rps in zip(
                batch.tolist(), figures.latency_ms[:, 0].tolist(), figures.throughput_rps[:, 0].tolist(), strict=True
            )
        ]
    return found


def _interference(profile: Profile, measured_on: Gpu, to: Gpu, margin: float) -> Interference | None:
    """Returns the coefficients there; None: there are none to carry, or a figure that it takes is not known."""
    known = profile.interference
    if known is None or known.estimated_from is not None:
        return None
    try:
        there = carried(profile, measured_on, to).interference
    except InputError:
        return None
    if there is None:
        return None
    k1, k2, k3, k4, k5 = there.model.active
    longer = tuple(_digits(k * (1 + margin)) for k in (k1, k2, k3, k5))
    active = (longer[0], longer[1], longer[2], k4, longer[3])
    return there.model_copy(
        update={"model": there.model.model_copy(update={"active": active}), "margin": margin or None}
    )


def _shares(
    profile: Profile, lines: Sequence[_Line], measured_on: Gpu, to: Gpu, margin: float
) -> tuple[MeasuredPoint, ...]:
    """Returns points at the shares that were measured, else on the whole GPU."""
    if not _has_shares(profile):
        return tuple(p for line in _carried(lines, measured_on, to, whole(to), margin) for p in _as_points(line))
    at_shares = _of_points(profile.share_points, measured_on)
    found: list[MeasuredPoint] = []
    for percent in dict.fromkeys(point.sm_percent for point in profile.share_points):
        own = [line for line in at_shares if line.place.percent == percent]
        for line in _carried(own, measured_on, to, share(to, percent or 100.0), margin):
            found += line.points
    return tuple(found)


def _as_points(line: _Line) -> tuple[MeasuredPoint, ...]:
    """Returns a curve's points at batch sizes that double, and at its end."""
    curve = line.curve
    if curve is None:
        return line.points
    batches = sorted({*(2**k for k in range(curve.max_batch.bit_length())), curve.max_batch})
    return tuple(
        MeasuredPoint(
            sm_percent=100,
            batch=batch,
            processes=curve.processes,
            latency_ms=_digits(ms),
            throughput_rps=_digits(1000 * curve.processes * batch / ms),
        )
        for batch, ms in zip(batches, batch_time_ms(curve, np.array(batches, dtype=np.float64)).tolist(), strict=True)
    )


def _carried(lines: Sequence[_Line], measured_on: Gpu, to: Gpu, place: Resources, margin: float) -> list[_Line]:
    """Returns what a place of the other type is estimated to achieve, a line for each number of processes."""
    found = []
    for processes in dict.fromkeys(line.processes for line in lines):
        own = [line for line in lines if line.processes == processes]
        near = min(own, key=lambda line: distance(line.place, place, measured_on, to))
        slower = max(ratios(near.place, place, measured_on, to))
        line = _on(near, place, slower, margin, _largest_batch(own, place))
        if line.curve is not None or line.points:
            found.append(line)
    return found


def _largest_batch(lines: Sequence[_Line], place: Resources) -> int:
    """Returns the largest batch that fitted into no more memory than there is; 0: none did."""
    small = [line for line in lines if line.place.memory_mib <= place.memory_mib]
    sizes = [line.curve.max_batch for line in small if line.curve is not None]
    return max([*sizes, *(point.batch for line in small for point in line.points)], default=0)


def _on(line: _Line, place: Resources, slower: float, margin: float, largest: int) -> _Line:
    """Returns a line on another place: times a factor, but for what does not shrink."""
    floor, item = max(1.0, slower) * (1 + margin), slower * (1 + margin)
    if line.curve is not None:
        if not largest:
            return replace(line, place=place, curve=None)
        changed = {
            "mig_profile": place.mig_profile or line.curve.mig_profile,
            "max_batch": min(line.curve.max_batch, largest),
            "floor_ms": _digits(line.curve.floor_ms * floor),
            "per_item_ms": _digits(line.curve.per_item_ms * item),
        }
        return replace(line, place=place, curve=line.curve.model_copy(update=changed))
    first = line.points[0].latency_ms
    kept = [
        point
        for point in line.points
        if (point.batch <= largest if point.memory_mib is None else point.memory_mib <= place.memory_mib)
    ]
    return replace(line, place=place, points=tuple(_point(point, place, first, floor, item) for point in kept))


def _point(point: MeasuredPoint, place: Resources, first_ms: float, floor: float, item: float) -> MeasuredPoint:
    ms = _digits(min(first_ms, point.latency_ms) * floor + max(point.latency_ms - first_ms, 0.0) * item)
    changed = {
        "mig_profile": place.mig_profile,
        "sm_percent": place.percent,
        "latency_ms": ms,
        "throughput_rps": _digits(point.throughput_rps * point.latency_ms / ms),
        "l2_percent": None,
        "dram_percent": None,
    }
    return point.model_copy(update=changed)


def _sizes(gpu: Gpu) -> list[str]:
    return [] if gpu.mig is None else [one.name for one in gpu.mig.profiles if one.kind != "variant"]


def _digits(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")
