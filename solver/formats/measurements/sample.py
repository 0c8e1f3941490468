"""
What a load test says of one load: throughput and latencies, and what it was told about model, batch and load.

    inferences_per_s    of all requests together; a request carries `request_batch` inferences
    latencies_ms        by statistic: avg, p50, p90, p95, p99 of a request as its sender sees it; compute: the mean time
                        within the model, as the server reports it

What a tool does not write is None, and asked for by option (profiles.py).
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...model.errors import Finding, InputError
from ...model.parsing import grouped

STATISTICS = ("p99", "p95", "p90", "p50", "avg", "compute")

Made = TypeVar("Made")
Item = TypeVar("Item")


@dataclass(frozen=True)
class SourceText:
    """A file that was read."""

    source: str
    text: str


@dataclass(frozen=True)
class Sample:
    """One load of one run."""

    source: str
    where: str
    """Row or document within the file."""
    inferences_per_s: float
    latencies_ms: Mapping[str, float]
    model: str | None = None
    concurrency: float | None = None
    """Requests in flight; None: sent at a rate, or not said."""
    request_batch: int | None = None
    """Inferences that a request carries."""
    max_batch: int | None = None
    """Largest batch that the server forms of several requests; None: not said."""
    counts_batches: bool = False
    """Whether `inferences_per_s` counts batches, of a size that the tool does not say."""
    continuous: bool = False
    """Whether the server batches whatever is in flight, as those of language models do."""
    processes: int | None = None
    memory_mib: float | None = None
    remark: str | None = None
    """What a reader of its figures must know, as a clause; stands in the profile and in the notes."""


@dataclass(frozen=True)
class LeftOut:
    """A row, run or file that is the tool's own, and from which no profile can be made."""

    source: str
    where: str
    reason: str
    """What it is, and what to take instead."""


Reader = Callable[[list[SourceText]], Sequence[Sample | LeftOut]]


def collected(items: Iterable[Item], make: Callable[[Item], Made]) -> list[Made]:
    """Returns what `make` makes of each item; raises InputError with the findings of all of them."""
    made: list[Made] = []
    findings: list[Finding] = []
    for item in items:
        try:
            made.append(make(item))
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(grouped(findings))
    return made


def taken(found: Iterable[Sample | LeftOut]) -> tuple[list[Sample], tuple[str, ...]]:
    """
    Returns the samples, and notes on what is left out beside them.

    Raises
    ------
    InputError
        If there is none: then what is left out is what is wrong.
    """
    samples: list[Sample] = []
    reasons: dict[str, list[LeftOut]] = {}
    for one in found:
        if isinstance(one, Sample):
            samples.append(one)
        else:
            reasons.setdefault(one.reason, []).append(one)
    if not samples:
        left = [Finding(one.source, one.where, one.reason) for ones in reasons.values() for one in ones]
        raise InputError(grouped(left) or [Finding("the results", "", "are empty: no run is in them")])
    return samples, tuple(_left_out_note(reason, ones) for reason, ones in reasons.items())


def _left_out_note(reason: str, ones: Sequence[LeftOut]) -> str:
    more = f" and {len(ones) - 1} more" if len(ones) > 1 else ""
    return f"Left out: {ones[0].source} {ones[0].where}".rstrip() + f"{more}: {reason}."


def refused(source: str, where: str, message: str) -> InputError:
    """Returns the exception for one finding."""
    return InputError([Finding(source, where, message)])
