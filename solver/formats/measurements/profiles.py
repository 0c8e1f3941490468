"""
From samples of load tests to profiles: what the tool did not write is asked for, units are checked, points are chosen.

Batch. The option, else what the file tells: the requests in flight of a server that batches whatever is in flight
(vLLM and others); where the server forms batches of several requests, min(max batch, ceil(in flight / processes));
else the inferences of a request.

Units. By Little's law the requests in flight are throughput times latency. Where that misses the stated concurrency by
two orders of magnitude or more, a unit is wrong (us taken for ms), and the file is refused.

Points. Of several loads at one operating point the greatest is taken at which nothing waits: all inferences in flight
fit into the running batches, so that the latency is that of the execution, as a plan takes it. If all loads make
requests wait, the smallest is taken, and a note says so. A latency of kind `compute` has no waiting in it, so there
the load of the greatest throughput is taken. Of repeated loads the lowest throughput is taken.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from pathlib import PurePath

from pydantic import ValidationError

from ...model.catalogue import load_catalogue
from ...model.errors import Finding, InputError
from ...model.parsing import closest, grouped
from ...model.profile import MeasuredPoint, Profile, Provenance
from ..profile_files import OVERLAP
from .sample import STATISTICS, Sample, collected, refused

FARTHEST = 100.0
"""Throughput times latency may differ from the concurrency by less than this factor: percentiles and pauses do not."""

FITS = 1 + 1e-9


@dataclass(frozen=True)
class Facts:
    """What the user says of a measurement; None: what the file says, if it does."""

    model: str | None = None
    gpu: str | None = None
    mig_profile: str | None = None
    sm_percent: float | None = None
    batch: int | None = None
    processes: int | None = None
    latency: str = "p99"
    """Which statistic becomes the profile's latency: one of STATISTICS."""


@dataclass(frozen=True)
class _Known:
    """A sample at a complete operating point."""

    sample: Sample
    model: str
    batch: int
    processes: int
    request_batch: int

    @property
    def in_flight(self) -> float | None:
        """Inferences in flight; None: not known."""
        return None if self.sample.concurrency is None else self.sample.concurrency * self.request_batch

    @property
    def waits(self) -> bool:
        """Whether requests wait for a batch before theirs."""
        return self.in_flight is None or self.in_flight > self.batch * self.processes * FITS


def measured_profiles(samples: Sequence[Sample], facts: Facts, tool: str) -> tuple[list[Profile], tuple[str, ...]]:
    """
    Returns one profile a model, and notes on which loads were taken.

    Raises
    ------
    InputError
        If a fact is missing (all that are at once), a name is not in the catalogue, a unit is wrong, or a throughput
        is more than a batch size allows.
    """
    _refuse_missing(samples, facts)
    _refuse_unknown(facts)
    known = collected(samples, lambda sample: _complete(sample, facts))
    collected(known, _refuse_wrong_unit)
    points: dict[tuple[str, int, int], list[_Known]] = {}
    for one in known:
        points.setdefault((one.model, one.batch, one.processes), []).append(one)
    chosen = [_chosen(loads, facts.latency) for _, loads in sorted(points.items())]
    made = collected(chosen, lambda one: (one.model, _point(one, facts)))
    files = ", ".join(dict.fromkeys(PurePath(sample.source).name for sample in samples))
    profiles = [
        Profile(
            model=model,
            gpu=facts.gpu or "",
            provenance=Provenance(source=f"{tool}: {files}", method=_method(facts.latency)),
            points=tuple(point for of_model, point in made if of_model == model),
        )
        for model in dict.fromkeys(model for model, _ in made)
    ]
    return profiles, tuple(_notes(known, chosen, facts.latency))


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


def _refuse_missing(samples: Sequence[Sample], facts: Facts) -> None:
    findings = []
    if facts.gpu is None:
        findings.append(Finding("--gpu", "", "is missing: no file tells the GPU type (`sliceplan gpus`)"))
    if facts.mig_profile is None and facts.sm_percent is None:
        message = "is missing: no file tells the slice; give it, or --sm-percent 100 for a whole GPU"
        findings.append(Finding("--mig-profile", "", message))
    if facts.mig_profile is not None and facts.sm_percent is not None:
        findings.append(Finding("--mig-profile", facts.mig_profile, "is given beside --sm-percent; give one of them"))
    for option, lacking in (
        ("--model", [sample for sample in samples if (facts.model or sample.model) is None]),
        ("--processes", [sample for sample in samples if (facts.processes or sample.processes) is None]),
        ("--batch", [sample for sample in samples if _batch(sample, facts) is None]),
    ):
        if lacking:
            where = f"{lacking[0].source} {lacking[0].where}".strip()
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            findings.append(Finding(option, "", f"is missing: not told by {where}{more}"))
    told = sorted({sample.model for sample in samples if sample.model is not None})
    if facts.model is not None and len(told) > 1:
        message = f"cannot name {len(told)} models at once, which the files have: {', '.join(told[:5])}"
        findings.append(Finding("--model", facts.model, message))
    for sample in samples:
        if facts.latency not in sample.latencies_ms:
            has = ", ".join(name for name in STATISTICS if name in sample.latencies_ms)
            findings.append(
                Finding("--latency", facts.latency, f"is not in {sample.source} {sample.where}; it has {has}")
            )
            break
    if findings:
        raise InputError(findings)


def _refuse_unknown(facts: Facts) -> None:
    catalogue = load_catalogue()
    gpu = catalogue.get(facts.gpu or "")
    if gpu is None:
        hint = closest(facts.gpu or "", catalogue)
        raise refused("--gpu", facts.gpu or "", f"is not in the catalogue. {hint}")
    known = [profile.name for profile in gpu.mig.profiles] if gpu.mig else []
    if facts.mig_profile is not None and facts.mig_profile not in known:
        hint = closest(facts.mig_profile, known)
        raise refused("--mig-profile", facts.mig_profile, f"is no MIG profile of {gpu.name}. {hint}")


def _batch(sample: Sample, facts: Facts) -> int | None:
    """Returns the batch size of a sample as the module says; None: it is not told."""
    processes = facts.processes or sample.processes
    if facts.batch is not None:
        return facts.batch
    if sample.continuous:
        return None if sample.concurrency is None else ceil(sample.concurrency)
    if sample.request_batch is None or sample.max_batch is None or sample.concurrency is None or processes is None:
        return sample.request_batch
    formed = ceil(sample.concurrency * sample.request_batch / processes)
    return max(sample.request_batch, min(sample.max_batch, formed))


def _complete(sample: Sample, facts: Facts) -> _Known:
    batch, model, processes = _batch(sample, facts), facts.model or sample.model, facts.processes or sample.processes
    if batch is None or model is None or processes is None:
        raise ValueError("a fact is missing that was asked for")
    if batch > 65536 or processes > 48:
        message = f"has batch {batch} and {processes} processes; at most 65536 and 48 are accepted"
        raise refused(sample.source, sample.where, message)
    return _Known(sample, model, batch, processes, sample.request_batch or batch)


def _refuse_wrong_unit(one: _Known) -> None:
    sample = one.sample
    seen = next((sample.latencies_ms[name] for name in reversed(STATISTICS[:-1]) if name in sample.latencies_ms), None)
    if sample.concurrency is None or seen is None:
        return
    requests_per_s = sample.inferences_per_s / one.request_batch
    in_flight = requests_per_s * seen / 1000
    factor = in_flight / sample.concurrency
    if 1 / FARTHEST < factor < FARTHEST:
        return
    raise refused(
        sample.source,
        sample.where,
        f"has {requests_per_s:g} requests/s of {seen:g} ms each: {in_flight:.3g} in flight by Little's law, but the "
        f"concurrency is {sample.concurrency:g}; a unit is wrong by a factor of about {max(factor, 1 / factor):.0f}",
    )


def _chosen(loads: Sequence[_Known], latency: str) -> _Known:
    if latency == "compute":
        return max(loads, key=lambda one: one.sample.inferences_per_s)
    without = [one for one in loads if not one.waits]
    if without:
        return max(without, key=lambda one: (one.in_flight or 0.0, -one.sample.inferences_per_s))
    return min(loads, key=lambda one: (one.in_flight or 0.0, one.sample.inferences_per_s))


def _point(one: _Known, facts: Facts) -> MeasuredPoint:
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


def _notes(known: Sequence[_Known], chosen: Sequence[_Known], latency: str) -> list[str]:
    notes = []
    if len(chosen) < len(known):
        notes.append(f"{len(chosen)} of {len(known)} loads are taken, one for each operating point.")
    waiting = [one for one in chosen if one.waits and latency != "compute"]
    if waiting:
        notes.append(
            f"{len(waiting)} of the latencies include waiting (more in flight than the batches hold, or sent at a "
            "rate); plans take them for execution, so they are too careful."
        )
    return notes


def _method(latency: str) -> str:
    if latency == "compute":
        return "Measured. Latency is the mean time within the model as the server reports it."
    kind = "mean" if latency == "avg" else f"{latency} "
    return f"Measured. Latency is the {kind.strip()} of requests as their sender sees it."


def _operating_point(point: MeasuredPoint) -> tuple[str | float | None, int, int]:
    return point.mig_profile or point.sm_percent, point.batch, point.processes


def _shown(point: MeasuredPoint) -> str:
    place = point.mig_profile or f"{point.sm_percent:g} %"
    return f"batch {point.batch} with {point.processes} process(es) on {place}"
