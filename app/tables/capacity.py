"""What GPUs could carry of each service, as a table."""

import pandas as pd

from sliceplan.solver.model.capacity_report import CapacityReport


def capacity_table(report: CapacityReport) -> pd.DataFrame:
    """Returns a row a service: what it asks for, and what its partitions could carry."""
    return pd.DataFrame(
        {
            "service": [one.workload for one in report.services],
            "rate_rps": [one.rate_rps for one in report.services],
            "capacity_rps": [one.capacity_rps for one in report.services],
            "times": [one.capacity_rps / one.rate_rps if one.rate_rps else None for one in report.services],
        }
    )
