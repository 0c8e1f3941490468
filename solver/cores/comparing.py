"""Schedulers side by side: the queries/s that each carries on the same arrivals, under the bound for any runtime."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..model.cores_report import Carried, CoresReport, ModelOnCores
from ..model.errors import InputError
from ..model.layer_times import LayeredModel
from ..runtime.progress import report
from .blocks import spent, whole
from .chain import chain_of
from .core_time import least_core_time
from .offline_bound import least_work
from .qps import Draw, carried_rps, offline_rps
from .quotas import Quotas, quotas_of
from .runtimes.timetable import Machine, Timetable
from .schedulers.scheduler import Scheduler


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
        If a model cannot be in time on these cores, or was measured on more cores only.
    """
    machine = trial.machine
    quotas = [quotas_of(chain_of(model).within(machine.cores), slo_ms[model.model]) for model in models]
    tables = [Timetable(one) for one in quotas]
    shares = [1 / len(models)] * len(models)
    draws = [Draw(seed, trial.queries, shares) for seed in range(1, trial.seeds + 1)]
    work = [least_work(one.chain, one.slo_ms) for one in quotas]
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
        rows.append(
            Carried(scheduler=scheduler.name, rps=mean, rps_by_seed=found, of_bound=mean / bound if bound else None)
        )
    return CoresReport(
        cores=machine.cores,
        grow_ms=machine.grow_ms,
        quantile=trial.quantile,
        queries=trial.queries,
        models=tuple(_facts(one) for one in quotas),
        schedulers=tuple(sorted(rows, key=lambda row: (-row.rps, row.scheduler))),
        bound_rps=bound,
        bound_rps_by_seed=tuple(bounds),
    )


def _facts(quotas: Quotas) -> ModelOnCores:
    try:
        least = least_core_time(quotas.chain, quotas.slo_ms)
    except InputError:  # a long limit has too many microseconds
        least = None
    return ModelOnCores(
        model=quotas.chain.name,
        slo_ms=quotas.slo_ms,
        average_cores=quotas.average,
        average_core_ms=spent(quotas, [whole(quotas)])[0],
        least_core_ms=least.core_ms if least else None,
        rises=quotas.chain.rises,
        steps=quotas.chain.steps,
    )
