"""
What the user says of a measurement, and what a file says: together a load at a known operating point.

Batch. The option, else what the file tells: the requests in flight of a server that batches whatever is in flight
(vLLM and others); where the server forms batches of several requests, min(max batch, ceil(in flight / processes));
else the inferences of a request.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from math import ceil

from ...model.catalogue import load_catalogue, load_cpus
from ...model.core_partitions import CoreTree, allowed_cores
from ...model.errors import Finding, InputError
from ...model.parsing import closest
from .sample import STATISTICS, Sample, collected, refused

FITS = 1 + 1e-9
"""By how much rounding may let the requests in flight pass what the batches hold."""


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
    cpu: str | None = None
    """CPU type, in place of `gpu`."""
    cores: int | None = None
    """On which it ran; of a CPU alone."""


@dataclass(frozen=True)
class KnownLoad:
    """A sample of which model, batch size and processes are known."""

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


def known_loads(samples: Sequence[Sample], facts: Facts) -> list[KnownLoad]:
    """
    Returns the samples, completed by the user's facts.

    Raises
    ------
    InputError
        If a fact is missing (all that are at once), contradicts another, or names what the catalogue does not have.
    """
    _refuse_missing(samples, facts)
    _refuse_unknown(facts)
    return collected(samples, lambda sample: _complete(sample, facts))


def _refuse_missing(samples: Sequence[Sample], facts: Facts) -> None:
    findings = [*_no_slice(facts), *_not_told(samples, facts), *_several_models(samples, facts)]
    without = next((sample for sample in samples if facts.latency not in sample.latencies_ms), None)
    if without is not None:
        has = ", ".join(name for name in STATISTICS if name in without.latencies_ms)
        has += f" ({without.remark})" if without.remark else ""
        message = f"is not in {f'{without.source} {without.where}'.rstrip()}; it has {has}"
        findings.append(Finding("--latency", facts.latency, message))
    if findings:
        raise InputError(findings)


def _no_slice(facts: Facts) -> Iterator[Finding]:
    """Yields what is not said of the GPU, or of the CPU, and of the part of it that was measured."""
    if facts.cpu is not None or facts.cores is not None:
        yield from _no_cores(facts)
        return
    if facts.gpu is None:
        yield Finding("--gpu", "", "is missing: no file tells the GPU type (`sliceplan gpus`)")
    if facts.mig_profile is None and facts.sm_percent is None:
        message = "is missing: no file tells the slice; give it, or --sm-percent 100 for a whole GPU"
        yield Finding("--mig-profile", "", message)
    if facts.mig_profile is not None and facts.sm_percent is not None:
        yield Finding("--mig-profile", facts.mig_profile, "is given beside --sm-percent; give one of them")


def _no_cores(facts: Facts) -> Iterator[Finding]:
    """Yields what is missing, or too much, of a measurement on a CPU."""
    if facts.cpu is None:
        yield Finding("--cpu", "", "is missing beside --cores: no file tells the CPU type (`sliceplan cpus`)")
    if facts.cores is None:
        yield Finding("--cores", "", "is missing beside --cpu: no file tells on how many cores it ran")
    of_gpus = (("--gpu", facts.gpu), ("--mig-profile", facts.mig_profile), ("--sm-percent", facts.sm_percent))
    for option, value in of_gpus:
        if value is not None:
            yield Finding(option, str(value), "is given beside --cpu or --cores; give what it ran on")


def _not_told(samples: Sequence[Sample], facts: Facts) -> Iterator[Finding]:
    """Yields what some sample lacks, and no option gives."""
    for option, lacking in (
        ("--model", [sample for sample in samples if (facts.model or sample.model) is None]),
        ("--processes", [sample for sample in samples if (facts.processes or sample.processes) is None]),
        ("--batch", [sample for sample in samples if _batch(sample, facts) is None]),
    ):
        if lacking:
            where = f"{lacking[0].source} {lacking[0].where}".strip()
            more = f" and {len(lacking) - 1} more" if len(lacking) > 1 else ""
            yield Finding(option, "", f"is missing: not told by {where}{more}")


def _several_models(samples: Sequence[Sample], facts: Facts) -> Iterator[Finding]:
    """Yields that one name is given to what the files call by several."""
    told = sorted({sample.model for sample in samples if sample.model is not None})
    if facts.model is not None and len(told) > 1:
        message = f"cannot name {len(told)} models at once, which the files have: {', '.join(told[:5])}"
        yield Finding("--model", facts.model, message)


def _refuse_unknown(facts: Facts) -> None:
    if facts.cpu is not None:
        _refuse_unknown_cores(facts.cpu, facts.cores or 0)
        return
    catalogue = load_catalogue()
    gpu = catalogue.get(facts.gpu or "")
    if gpu is None:
        hint = closest(facts.gpu or "", catalogue)
        raise refused("--gpu", facts.gpu or "", f"is not in the catalogue. {hint}")
    known = [profile.name for profile in gpu.mig.profiles] if gpu.mig else []
    if facts.mig_profile is not None and facts.mig_profile not in known:
        hint = closest(facts.mig_profile, known)
        raise refused("--mig-profile", facts.mig_profile, f"is no MIG profile of {gpu.name}. {hint}")


def _refuse_unknown_cores(name: str, cores: int) -> None:
    cpu = load_cpus().get(name)
    if cpu is None:
        raise refused("--cpu", name, f"is not in the catalogue. {closest(name, load_cpus())}")
    tree = CoreTree.of(cpu)
    if tree.level(cores) is None:
        raise refused("--cores", str(cores), f"is no partition of {name}, which has {allowed_cores(tree)}")


def _batch(sample: Sample, facts: Facts) -> int | None:
    """Returns the batch size of a sample as said above; None: it is not told."""
    processes = facts.processes or sample.processes
    if facts.batch is not None:
        return facts.batch
    if sample.continuous:
        return None if sample.concurrency is None else ceil(sample.concurrency)
    if sample.request_batch is None or sample.max_batch is None or sample.concurrency is None or processes is None:
        return sample.request_batch
    formed = ceil(sample.concurrency * sample.request_batch / processes)
    return max(sample.request_batch, min(sample.max_batch, formed))


def _complete(sample: Sample, facts: Facts) -> KnownLoad:
    batch, model, processes = _batch(sample, facts), facts.model or sample.model, facts.processes or sample.processes
    if batch is None or model is None or processes is None:
        raise ValueError("a fact is missing that was asked for")
    if batch > 65536 or processes > 48:
        message = f"has batch {batch} and {processes} processes; at most 65536 and 48 are accepted"
        raise refused(sample.source, sample.where, message)
    if sample.counts_batches:
        sample = replace(sample, inferences_per_s=sample.inferences_per_s * batch)
    return KnownLoad(sample, model, batch, processes, sample.request_batch or batch)
