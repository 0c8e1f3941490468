"""What partition sizes and services cost, as tables."""

import pandas as pd

from sliceplan.solver.model.plan import Prices
from sliceplan.solver.model.price_report import PriceReport


def size_table(prices: Prices) -> pd.DataFrame:
    """Returns one row a partition size, with its price and the rent of its GPU type."""
    return pd.DataFrame(
        [
            {
                "GPU": size.gpu,
                "partition": size.mig_profile or "whole GPU",
                "price per hour": size.usd_per_hour,
                "scarcity of the GPU": prices.rents.get(size.gpu, 0.0),
            }
            for size in prices.sizes
        ]
    )


def service_table(report: PriceReport) -> pd.DataFrame:
    """Returns one row a service, the dearest first; NaN where a change has no price."""
    rows = [
        {
            "service": service.workload,
            "per hour": service.usd_per_hour,
            "per million requests": service.usd_per_million_requests,
            "+10 % rate": service.rate_up_usd_per_hour,
            "-10 % SLO": service.slo_down_usd_per_hour,
            "to move": service.move_usd_per_hour,
            "would move to": ", ".join(f"{count} x {size}" for size, count in (service.move_to or {}).items()),
        }
        for service in report.services
    ]
    frame = pd.DataFrame(rows).astype({"-10 % SLO": "float64", "to move": "float64"})
    return frame.sort_values("per hour", ascending=False, ignore_index=True)
