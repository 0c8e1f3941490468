"""A plan in tables: its services, its GPUs, and which of the GPUs are looked at."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

import pandas as pd

from sliceplan.solver.metrics.service_figures import ServiceFigures, kind_of
from sliceplan.solver.model.plan import Plan, PlannedGpu
from sliceplan.solver.model.prices import usd_per_hour_of
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.wording.sharing_words import SHARING_WORDS
from sliceplan.solver.wording.summary import missed_slos

MOST_NAMED = 3
"""GPUs of a service that are named; of more, their number."""


@dataclass(frozen=True)
class GpuFilter:
    """Which GPUs of a plan are looked at; what is empty does not restrict."""

    services: tuple[str, ...] = ()
    nodes: tuple[str, ...] = ()
    types: tuple[str, ...] = ()
    only_missed: bool = False

    @property
    def restricts(self) -> bool:
        """Whether it leaves anything out."""
        return bool(self.services or self.nodes or self.types or self.only_missed)

    def gpus_of(self, plan: Plan) -> list[PlannedGpu]:
        """Returns the GPUs in the plan's order."""
        missed = {one.gpu for one in plan.violations} if self.only_missed else set()
        return [
            gpu
            for gpu in plan.gpus
            if (not self.services or _serves(gpu, self.services))
            and (not self.nodes or gpu.node in self.nodes)
            and (not self.types or gpu.gpu in self.types)
            and (not self.only_missed or gpu.id in missed)
        ]

    def services_of(self, plan: Plan) -> set[str]:
        """Returns the services that are chosen, else all that run on the GPUs that are; with their misses alone."""
        missed = missed_slos(plan)
        running = {
            served.workload for gpu in self.gpus_of(plan) for partition in gpu.partitions for served in partition.serves
        }
        return {
            name
            for name in running
            if (not self.services or name in self.services) and (not self.only_missed or name in missed)
        }


def service_table(figures: Sequence[ServiceFigures]) -> pd.DataFrame:
    """Returns one row a service: where it runs, rates in requests/s, times in ms, parts in percent."""
    rows = [
        {
            "service": one.name,
            "model": one.model,
            "runs on": ", ".join(f"{count} x {kind}" if count > 1 else kind for kind, count in one.places.items()),
            "rate (req/s)": one.required_rps,
            "capacity (req/s)": one.capacity_rps,
            "load": None if one.load is None else 100 * one.load,
            "latency (ms)": None if one.slowest is None else one.slowest.latency_ms,
            "may take (ms)": one.limit_ms,
            "slack": None if one.used is None else 100 * (1 - one.used),
            "SLO (ms)": one.slo_ms,
            "SLO kept": "no" if one.misses else "yes",
            "predicted": None if one.slowest is None else str(one.slowest.basis),
            "GPUs": _few(one.gpus),
        }
        for one in figures
    ]
    frame = pd.DataFrame(rows)
    floats = ("load", "latency (ms)", "slack")
    if not any(one.misses for one in figures):
        frame = frame.drop(columns="SLO kept", errors="ignore")
    # What is the same for all is said beside the table, which then fits beside the sidebar.
    if len({str(one.slowest.basis) for one in figures if one.slowest is not None}) == 1:
        frame = frame.drop(columns="predicted", errors="ignore")
    return frame.astype(dict.fromkeys(floats, "float64")) if rows else frame


def gpu_table(problem: Problem, plan: Plan, gpus: Collection[PlannedGpu]) -> pd.DataFrame:
    """Returns one row for each of some GPUs of a plan; prices in USD, without columns that none of them fills."""
    prices = usd_per_hour_of(problem)
    cuts = {cut.id: cut for cut in plan.metrics.gpus} if plan.metrics else {}
    rows = []
    for gpu in gpus:
        cut = cuts.get(gpu.id)
        rows.append(
            {
                "GPU": gpu.id,
                "node": gpu.node,
                "index": gpu.index,
                "sharing": SHARING_WORDS[gpu.sharing],
                "partitions": " | ".join(kind_of(gpu, partition) for partition in gpu.partitions),
                "services": ", ".join(
                    dict.fromkeys(served.workload for part in gpu.partitions for served in part.serves)
                ),
                "cost per hour": prices.get(gpu.gpu),
                "free compute slices": cut.free_compute_slices if cut else None,
                "free share (%)": cut.free_percent if cut else None,
                "free cores": cut.free_cores if cut else None,
                "power (W)": cut.power_demand_w if cut else None,
                "clock (MHz)": cut.frequency_mhz if cut else None,
            }
        )
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame
    return frame.astype({"index": "Int64", "free compute slices": "Int64", "free cores": "Int64"}).dropna(
        axis="columns", how="all"
    )


def _serves(gpu: PlannedGpu, services: Collection[str]) -> bool:
    return any(served.workload in services for partition in gpu.partitions for served in partition.serves)


def _few(gpus: Sequence[str]) -> str:
    return ", ".join(gpus) if len(gpus) <= MOST_NAMED else f"{len(gpus)} GPUs"
