"""What partition sizes and services cost, as tables."""

from collections.abc import Mapping

import pandas as pd

from sliceplan.solver.model.plan import Plan, Prices
from sliceplan.solver.model.price_report import PriceReport
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.performance.interference.prediction import Floats
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH


def size_table(prices: Prices) -> pd.DataFrame:
    """Returns one row a partition size, with its price and the rent of its GPU type; then the GPUs under MPS."""
    rows = [(size.gpu, size.mig_profile or "whole GPU", size.usd_per_hour) for size in prices.sizes]
    rows += [(gpu, "all, under MPS", usd_per_hour) for gpu, usd_per_hour in prices.shared.items()]
    return pd.DataFrame(
        [
            {
                "GPU": gpu,
                "partition": partition,
                "price per hour": usd_per_hour,
                "scarcity of the GPU": prices.rents.get(gpu, 0.0),
            }
            for gpu, partition, usd_per_hour in rows
        ]
    )


def service_table(report: PriceReport) -> pd.DataFrame:
    """Returns one row a service, the dearest first; NaN where a change has no price."""
    rows = [
        {
            "service": service.workload,
            "per hour": service.usd_per_hour,
            "per month": service.usd_per_hour * HOURS_A_MONTH,
            "per million requests": service.usd_per_million_requests,
            "+10 % rate": service.rate_up_usd_per_hour,
            "-10 % SLO": service.slo_down_usd_per_hour,
            "to move": service.move_usd_per_hour,
            "would move to": ", ".join(f"{count} x {size}" for size, count in (service.move_to or {}).items()),
        }
        for service in report.services
    ]
    frame = pd.DataFrame(rows).astype({"+10 % rate": "float64", "-10 % SLO": "float64", "to move": "float64"})
    return frame.sort_values("per hour", ascending=False, ignore_index=True)


def type_table(problem: Problem, plan: Plan, costs: Mapping[str, Floats]) -> pd.DataFrame:
    """Returns one row a service: the types that it runs on, and what it would cost on each type; NaN: it cannot."""
    runs: dict[str, dict[str, None]] = {workload.name: {} for workload in problem.workloads}
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                runs[served.workload][gpu.gpu] = None
    rows = [
        {"service": name, "runs on": ", ".join(types), **{gpu: float(of[w]) for gpu, of in costs.items()}}
        for w, (name, types) in enumerate(runs.items())
    ]
    return pd.DataFrame(rows)
