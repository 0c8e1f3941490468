"""
How a simulation is asked for in words, as on the command line; everything that is wrong is said at once.

    arrivals    [SERVICE=]poisson | even | gamma:VARIATION | bursts:FACTOR,SHARE,SECONDS | trace:FILE
    dispatch    weighted_round_robin | random | least_loaded | least_expected | central
    batching    greedy | full | delay:MS[:SIZE,...] | deferred
    failures    GPU@SECONDS
    neighbours  busy | simulated
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TypeVar

from ..formats.arrival_traces import read_arrival_trace
from ..model.errors import Finding, InputError
from ..model.lists import few
from ..model.parsing import closest
from ..model.problem import Problem
from .arrivals.bursts import Bursts
from .arrivals.even import Even
from .arrivals.gamma import Gamma
from .arrivals.poisson import Poisson
from .arrivals.process import ArrivalProcess
from .arrivals.trace import Trace
from .batching.deferred import Deferred
from .batching.dynamic import Dynamic
from .batching.greedy import Greedy
from .batching.policy import BatchingPolicy
from .dispatch.dealing import Dealing
from .dispatch.registry import DISPATCHES
from .settings import Neighbours, SimulationSettings

Asked = TypeVar("Asked")

WITHOUT_FIGURES: Mapping[str, BatchingPolicy] = {"greedy": Greedy(), "full": Dynamic(), "deferred": Deferred()}

ARRIVALS = "poisson, even, gamma:VARIATION, bursts:FACTOR,SHARE,SECONDS or trace:FILE"

BATCHINGS = "greedy, full, delay:MS, delay:MS:SIZE,SIZE,... or deferred"

GREATEST_VARIATION = 30.0
"""Of gaps: beyond it nearly all requests come in crowds, and no simulation of this length says anything."""


def dispatch_of(text: str) -> Dealing:
    """Returns a way to deal requests by its name."""
    if text not in DISPATCHES:
        raise InputError([Finding("--dispatch", text, f"is no dispatch. {closest(text, DISPATCHES)}")])
    return DISPATCHES[text]


def batching_of(text: str) -> BatchingPolicy:
    """Returns a batching policy as it is written."""
    kind, _, rest = text.partition(":")
    if text in WITHOUT_FIGURES:
        return WITHOUT_FIGURES[text]
    if kind != "delay":
        raise InputError([Finding("--batching", text, f"is no policy; expected {BATCHINGS}")])
    delay, _, sizes = rest.partition(":")
    wait_ms = _number(delay)
    if wait_ms is None or not 0 <= wait_ms <= 1e9:
        raise InputError([Finding("--batching", text, "has no such delay; expected ms, 0 to 1e9, as in delay:5")])
    preferred = [_number(size) for size in sizes.split(",")] if sizes else []
    if any(size is None or size < 1 or size != int(size) for size in preferred):
        raise InputError([Finding("--batching", text, "has no such sizes; expected whole numbers, as in delay:5:4,8")])
    return Dynamic(wait_ms, tuple(sorted({int(size) for size in preferred if size is not None})))


def neighbours_of(text: str) -> Neighbours:
    """Returns who slows a batch down under MPS."""
    known: dict[str, Neighbours] = {"busy": "busy", "simulated": "simulated"}
    if text not in known:
        raise InputError([Finding("--neighbours", text, "is not understood; expected busy or simulated")])
    return known[text]


def failures_of(texts: Iterable[str]) -> dict[str, float]:
    """Returns when which GPU fails, in seconds."""
    found: dict[str, float] = {}
    findings = []
    for text in texts:
        gpu, _, moment = text.rpartition("@")
        seconds = _number(moment)
        if not gpu or seconds is None:
            findings.append(Finding("--fail-gpu", text, "is not understood; expected GPU@SECONDS as A100-80GB/0@60"))
        elif gpu in found:
            findings.append(Finding("--fail-gpu", text, "fails a GPU twice"))
        else:
            found[gpu] = seconds
    if findings:
        raise InputError(findings)
    return found


def arrivals_of(texts: Sequence[str], problem: Problem) -> tuple[ArrivalProcess, dict[str, ArrivalProcess]]:
    """
    Returns the arrivals of all services, and those of services that differ.

    Parameters
    ----------
    texts
        At most one for all; of each service at most one of its own.
    """
    names = [workload.name for workload in problem.workloads]
    common: ArrivalProcess | None = None
    own: dict[str, ArrivalProcess] = {}
    of_file: dict[str, ArrivalProcess] = {}
    findings: list[Finding] = []
    for text in texts:
        before, is_own, after = text.partition("=")
        is_own = "" if ":" in before else is_own  # a file's name may have an equals sign
        kind = after if is_own else text
        before = problem.name_of(before)
        try:
            if is_own and before not in names:
                message = f"is of no service of the problem. {closest(before, names)}"
                raise InputError([Finding("--arrivals", text, message)])
            if (is_own and before in own) or (not is_own and (common is not None or of_file)):
                raise InputError(
                    [Finding("--arrivals", text, "says it a second time; give one for all or one a service")]
                )
            if is_own:
                own[before] = _of_one(kind, before)
            elif kind.startswith("trace:"):
                of_file = _of_all(Path(kind.removeprefix("trace:")), names)
            else:
                common = _generated(kind)
        except InputError as error:
            findings += error.findings
    if findings:
        raise InputError(findings)
    return common or Poisson(), of_file | own


def _of_one(kind: str, service: str) -> ArrivalProcess:
    if not kind.startswith("trace:"):
        return _generated(kind)
    path = Path(kind.removeprefix("trace:"))
    trace = read_arrival_trace(path)
    if service not in trace and None not in trace:
        raise InputError(
            [Finding(str(path), "", f"has no requests of {service}; it has those of {few(_named(trace))}")]
        )
    return Trace(trace[service if service in trace else None], str(path))


def _of_all(path: Path, names: Sequence[str]) -> dict[str, ArrivalProcess]:
    """Returns the arrivals of every service in a file that names them all."""
    trace = read_arrival_trace(path)
    if None in trace:
        if len(names) == 1:
            return {names[0]: Trace(trace[None], str(path))}
        message = (
            f"names no services, and the problem has {len(names)}; give it to one: --arrivals SERVICE=trace:{path}"
        )
        raise InputError([Finding(str(path), "", message)])
    findings = []
    if missing := [name for name in names if name not in trace]:
        findings.append(Finding(str(path), "", f"has no requests of {few(missing)}"))
    if unknown := [name for name in _named(trace) if name not in names]:
        findings.append(Finding(str(path), "", f"has requests of {few(unknown)}, no services of the problem"))
    if findings:
        raise InputError(findings)
    return {name: Trace(trace[name], str(path)) for name in names}


def _named(trace: Mapping[str | None, object]) -> list[str]:
    return sorted(name for name in trace if name is not None)


def _generated(text: str) -> ArrivalProcess:
    kind, _, rest = text.partition(":")
    kinds: dict[str, Callable[[list[float]], ArrivalProcess]] = {
        "poisson": lambda _: Poisson(),
        "even": lambda _: Even(),
        "gamma": lambda numbers: _gamma(text, *numbers),
        "bursts": lambda numbers: _bursts(text, *numbers),
    }
    wanted = {"poisson": 0, "even": 0, "gamma": 1, "bursts": 3}
    numbers = [_number(part) for part in rest.split(",")] if rest else []
    if kind not in kinds or len(numbers) != wanted[kind] or None in numbers:
        raise InputError([Finding("--arrivals", text, f"is not understood; expected {ARRIVALS}")])
    return kinds[kind]([number for number in numbers if number is not None])


def _gamma(text: str, variation: float) -> Gamma:
    if not 0.01 <= variation <= GREATEST_VARIATION:
        message = f"has the coefficient of variation {variation:g}; expected 0.01 to {GREATEST_VARIATION:g}"
        raise InputError([Finding("--arrivals", text, message)])
    return Gamma(variation)


def _bursts(text: str, factor: float, share: float, seconds: float) -> Bursts:
    findings = []
    if not 0 < share < 1:
        findings.append(f"has bursts for {share:g} of the time; expected a share between 0 and 1")
    elif not 1 <= factor <= 1 / share:
        findings.append(
            f"has {factor:g} times the rate in bursts; expected 1 to {1 / share:g}, as they are {share:g} of the time"
        )
    if not 1e-3 <= seconds <= 1e6:
        findings.append(f"has bursts of {seconds:g} s; expected 0.001 to 1e6")
    if findings:
        raise InputError([Finding("--arrivals", text, message) for message in findings])
    return Bursts(factor, share, 1000 * seconds)


def _number(text: str) -> float | None:
    try:
        number = float(text)
    except ValueError:
        return None
    return number if isfinite(number) else None


def settings_of(
    problem: Problem,
    *,
    arrivals: Sequence[str],
    dispatch: str | None,
    batching: str | None,
    failures: Iterable[str],
    requests: int,
    seconds: float | None,
    seed: int,
    load: float,
    quantile: float | None,
    measured_batches: bool,
    takeover_s: float | None = None,
    neighbours: str = "busy",
) -> SimulationSettings:
    """Returns settings from what was asked for in words and figures; InputError with all findings of the words."""
    findings: list[Finding] = []

    def asked(read: Callable[[], Asked], else_: Asked) -> Asked:
        try:
            return read()
        except InputError as error:
            findings.extend(error.findings)
            return else_

    nothing: tuple[ArrivalProcess, dict[str, ArrivalProcess]] = (Poisson(), {})
    none: Dealing | None = None
    policy: BatchingPolicy | None = None
    all_busy: Neighbours = "busy"
    common, own = asked(lambda: arrivals_of(arrivals, problem), nothing)
    settings = SimulationSettings(
        arrivals=common,
        arrivals_of=own,
        requests=requests,
        seconds=seconds,
        seed=seed,
        dealing=None if dispatch is None else asked(lambda: dispatch_of(dispatch), none),
        batching=None if batching is None else asked(lambda: batching_of(batching), policy),
        load=load,
        quantile=quantile,
        failures_s=asked(lambda: failures_of(failures), {}),
        neighbours=asked(lambda: neighbours_of(neighbours), all_busy),
        measured_batches=measured_batches,
        takeover_s=takeover_s,
    )
    if findings:
        raise InputError(findings)
    return settings
