"""
From samples of load tests to profiles: of the loads at one operating point, one becomes the profile's point.

It is the greatest load at which nothing waits: all inferences in flight fit into the running batches, so that the
latency is that of the execution, as a plan takes it. If all loads make requests wait, the smallest is taken, and a
note says so. A latency of kind `compute` has no waiting in it, so there the load of the greatest throughput is taken.
Of repeated loads the lowest throughput is taken.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from pathlib import PurePath

from pydantic import ValidationError

from ...model.errors import Finding, InputError
from ...model.parsing import grouped
from ...model.profile import MeasuredPoint, Profile, Provenance
from ...model.words import counted
from ..profile_files import OVERLAP
from .facts import Facts, KnownLoad, known_loads
from .littles_law import refuse_wrong_unit
from .sample import LeftOut, Sample, collected, refused, taken


def measured_profiles(
    found: Iterable[Sample | LeftOut], facts: Facts, tool: str
) -> tuple[list[Profile], tuple[str, ...]]:
    """
    Returns one profile a model, and notes on which loads were taken and what was left out.

    Raises
    ------
    InputError
        If nothing is left, a fact is missing (all that are at once), a name is not in the catalogue, a unit is wrong,
        or a throughput is more than a batch size allows.
    """
    samples, left_out = taken(found)
    known = known_loads(samples, facts)
    collected(known, refuse_wrong_unit)
    points: dict[tuple[str, int, int], list[KnownLoad]] = {}
    for one in known:
        points.setdefault((one.model, one.batch, one.processes), []).append(one)
    chosen = [_chosen(loads, facts.latency) for _, loads in sorted(points.items())]
    made = collected(chosen, lambda one: (one.model, _point(one, facts)))
    files = ", ".join(dict.fromkeys(PurePath(sample.source).name for sample in samples))
    profiles = [
        Profile(
            model=model,
            gpu=facts.cpu or facts.gpu or "",
            cpu=facts.cpu,
            provenance=Provenance(source=f"{tool}: {files}", method=_method(facts.latency, _remarks(chosen, model))),
            points=tuple(point for of_model, point in made if of_model == model),
        )
        for model in dict.fromkeys(model for model, _ in made)
    ]
    return profiles, (*_notes(known, chosen, facts.latency), *left_out)


def with_more_points(earlier: Iterable[Profile], later: Iterable[Profile], source: str) -> list[Profile]:
    """
    Returns profiles with the points of others added to those of the same model and GPU type.

    Raises
    ------
    InputError
        If an operating point is there already, or a model's points would stand beside fitted curves.
    """
    merged = {(profile.model, profile.gpu): profile for profile in earlier}
    findings = []
    for profile in later:
        key = (profile.model, profile.gpu)
        there = merged.get(key)
        if there is None:
            merged[key] = profile
            continue
        taken = {_operating_point(point) for point in there.points}
        twice = [point for point in profile.points if _operating_point(point) in taken]
        findings += [
            Finding(source, f"{profile.model} on {profile.gpu}", f"has {_shown(point)} already; remove one of them")
            for point in twice
        ]
        if there.curves and profile.mig_points:
            message = "has fitted curves, beside which points cannot stand; write another file and give both to solve"
            findings.append(Finding(source, f"{profile.model} on {profile.gpu}", message))
        if not findings:
            sources = f"{there.provenance.source}; {profile.provenance.source}"
            provenance = there.provenance.model_copy(update={"source": sources})
            points = (*there.points, *profile.points)
            merged[key] = there.model_copy(update={"points": points, "provenance": provenance})
    if findings:
        raise InputError(grouped(findings))
    return list(merged.values())


def _chosen(loads: Sequence[KnownLoad], latency: str) -> KnownLoad:
    if latency == "compute":
        return max(loads, key=lambda one: one.sample.inferences_per_s)
    without = [one for one in loads if not one.waits]
    if without:
        return max(without, key=lambda one: (one.in_flight or 0.0, -one.sample.inferences_per_s))
    return min(loads, key=lambda one: (one.in_flight or 0.0, one.sample.inferences_per_s))


def _point(one: KnownLoad, facts: Facts) -> MeasuredPoint:
    latency, throughput = one.sample.latencies_ms[facts.latency], one.sample.inferences_per_s
    most = 1000 * one.batch * one.processes / latency
    if throughput > OVERLAP * most:
        raise refused(
            one.sample.source,
            one.sample.where,
            f"has {throughput:g} inferences/s; {one.processes} process(es) that take {latency:g} ms for a batch of "
            f"{one.batch} give {most:.4g}: the server formed larger batches; give their size by --batch",
        )
    memory = one.sample.memory_mib
    try:
        return MeasuredPoint(
            mig_profile=facts.mig_profile,
            sm_percent=facts.sm_percent,
            cores=facts.cores,
            batch=one.batch,
            processes=one.processes,
            latency_ms=_nine_digits(latency),
            throughput_rps=_nine_digits(throughput),
            memory_mib=None if memory is None else _nine_digits(memory),
        )
    except ValidationError as error:
        message = f"has {latency:g} ms and {throughput:g} inferences/s; at most 1e9 and 1e12 are accepted"
        raise refused(one.sample.source, one.sample.where, message) from error


def _nine_digits(value: float) -> float:
    """Returns a figure without the digits that conversion of units adds."""
    return float(f"{value:.9g}")


def _notes(known: Sequence[KnownLoad], chosen: Sequence[KnownLoad], latency: str) -> list[str]:
    notes = []
    if len(chosen) < len(known):
        notes.append(f"{len(chosen)} of {len(known)} loads are taken, one for each operating point.")
    waiting = [one for one in chosen if one.waits and latency != "compute"]
    if waiting:
        notes.append(
            f"{len(waiting)} of the latencies include waiting (more in flight than the batches hold, or sent at a "
            "rate); plans take them for execution, so they are too careful."
        )
    notes += [f"Of {counted(of, 'point')}: {remark}." for remark, of in _remarks(chosen).items()]
    return notes


def _remarks(chosen: Iterable[KnownLoad], model: str | None = None) -> Counter[str]:
    """Returns the remarks on the loads of a model, or of all, and of how many."""
    of_model = (one.sample.remark for one in chosen if model in (None, one.model))
    return Counter(remark for remark in of_model if remark is not None)


def _method(latency: str, remarks: Iterable[str]) -> str:
    kind = "mean" if latency == "avg" else latency
    text = f"Measured. Latency is the {kind} of requests as their sender sees it."
    if latency == "compute":
        text = "Measured. Latency is the mean time within the model as the server reports it."
    return " ".join([text, *(f"{remark[0].upper()}{remark[1:]}." for remark in remarks)])


def _operating_point(point: MeasuredPoint) -> tuple[str | float | None, int, int]:
    return point.partition or point.sm_percent, point.batch, point.processes


def _shown(point: MeasuredPoint) -> str:
    place = point.partition or f"{point.sm_percent:g} %"
    return f"batch {point.batch} with {point.processes} process(es) on {place}"
