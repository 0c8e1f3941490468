"""Schedulers side by side: the queries/s that each carries on the same arrivals, under the bound for any runtime."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..model.cores_report import AtLevel, Carried, CoresReport, CoresSpent, ModelOnCores
from ..model.errors import Finding, InputError
from ..model.layer_times import LayeredModel
from ..runtime.progress import report
from .blocks import spent, whole
from .chain import Chain
from .core_time import least_core_time
from .expected_core_time import expected_core_time
from .levels import Levels, levels_of
from .offline_bound import LeastWork, least_work
from .qps import Draw, carried_rps, offline_rps
from .quotas import Quotas, quotas_of
from .runtimes.timetable import Machine, Span, Timetable
from .schedulers.scheduler import Runtime, Scheduler
from .spent_cores import SpentCores, spent_cores


@dataclass(frozen=True)
class Trial:
    """How schedulers are compared."""

    machine: Machine
    quantile: float = 0.95
    queries: int = 1000
    seeds: int = 1
    """Numbered from 1."""


def compared(
    models: Sequence[LayeredModel], slo_ms: Mapping[str, float], schedulers: Sequence[Scheduler], trial: Trial
) -> CoresReport:
    """
    Returns what each scheduler carries; of all queries each model has an equal part.

    Parameters
    ----------
    slo_ms
        Latency limit of each model.

    Raises
    ------
    InputError
        If a model cannot be in time on these cores, was measured on more cores only, or not at levels that it meets.
    """
    machine = trial.machine
    levels = [levels_of(model).within(machine.cores) for model in models]
    quotas = [quotas_of(one.alone, slo_ms[one.name]) for one in levels]
    if machine.full_level > 1:
        _refuse_unmeasured(levels, machine.full_level)
    tables = [Timetable(one, of_model) for one, of_model in zip(quotas, levels, strict=True)]
    shares = [1 / len(models)] * len(models)
    draws = [Draw(seed, trial.queries, shares) for seed in range(1, trial.seeds + 1)]
    chains = [one.fastest if machine.full_level > 1 else one.alone for one in levels]
    work = [least_work(chain, one.slo_ms) for chain, one in zip(chains, quotas, strict=True)]
    bounds = []
    for draw in draws:
        report(f"the bound for any runtime, seed {draw.seed}")
        bounds.append(offline_rps(work, draw, machine.cores, trial.quantile))
    bound = sum(bounds) / len(bounds)
    rows = []
    for scheduler in schedulers:
        report(f"simulating {scheduler.name}")
        runtime = scheduler.start(tables, shares, machine)
        found = tuple(round(carried_rps(runtime, draw, trial.quantile), 3) for draw in draws)
        mean = sum(found) / len(found)
        spent_on = [_spent_on(runtime, draw, rps, work, machine) for draw, rps in zip(draws, found, strict=True) if rps]
        row = Carried(
            scheduler=scheduler.name,
            rps=mean,
            rps_by_seed=found,
            of_bound=mean / bound if bound else None,
            spent=_mean(spent_on) if spent_on else None,
        )
        rows.append(row)
    return CoresReport(
        cores=machine.cores,
        grow_ms=machine.grow_ms,
        full_level=machine.full_level,
        quantile=trial.quantile,
        queries=trial.queries,
        models=tuple(map(_facts, levels, quotas)),
        schedulers=tuple(sorted(rows, key=lambda row: (-row.rps, row.scheduler))),
        bound_rps=bound,
        bound_rps_by_seed=tuple(bounds),
    )


def _refuse_unmeasured(levels: Sequence[Levels], full_level: float) -> None:
    findings = [
        Finding("--full-level", "", f"is {full_level:g}; {one.name} was measured up to level {one.levels[-1]:g}")
        for one in levels
        if one.levels[-1] < full_level
    ]
    if findings:
        raise InputError(findings)


def _spent_on(runtime: Runtime, draw: Draw, rps: float, work: Sequence[LeastWork], machine: Machine) -> SpentCores:
    """Returns what cores did at a rate, in queries/s."""
    spans: list[Span] = []
    trace = draw.trace(rps)
    ends = runtime(trace, spans=spans)
    if ends is None:
        raise RuntimeError("a run without a limit on late queries has no end")
    return spent_cores(spans, ends, trace, work, machine.cores).in_queries_per_s(trace, work, machine.cores)


def _mean(found: Sequence[SpentCores]) -> CoresSpent:
    means = {name: sum(getattr(one, name) for one in found) / len(found) for name in CoresSpent.model_fields}
    return CoresSpent(**{name: round(mean, 3) + 0.0 for name, mean in means.items()})  # 0.0 in place of -0.0


def _facts(levels: Levels, quotas: Quotas) -> ModelOnCores:
    least = _core_ms(levels.alone, quotas.slo_ms)
    several = len(levels.levels) > 1
    return ModelOnCores(
        model=quotas.chain.name,
        slo_ms=quotas.slo_ms,
        average_cores=quotas.average,
        average_core_ms=spent(quotas, [whole(quotas)])[0],
        least_core_ms=least,
        at_levels=tuple(
            AtLevel(level=level, least_core_ms=_core_ms(levels.at(number), quotas.slo_ms) if number else least)
            for number, level in enumerate(levels.levels)
            if several
        ),
        sure_core_ms=_core_ms(levels.slowest, quotas.slo_ms) if several else None,
        expected_core_ms=_expected_core_ms(levels, quotas.slo_ms) if several else None,
        rises=quotas.chain.rises,
        steps=quotas.chain.steps,
    )


def _core_ms(chain: Chain, slo_ms: float) -> float | None:
    try:
        least = least_core_time(chain, slo_ms)
    except InputError:  # a long limit has too many microseconds
        return None
    return least.core_ms if least else None


def _expected_core_ms(levels: Levels, slo_ms: float) -> float | None:
    try:
        return expected_core_time(levels, slo_ms)
    except InputError:
        return None
