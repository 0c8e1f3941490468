"""What is left of each GPU, and what still fits there."""

import pandas as pd

from sliceplan.solver.model.plan import Plan


def fragmentation_table(plan: Plan) -> pd.DataFrame:
    """Returns one row a GPU: free and wasted slices, and the profiles that could still be added."""
    rows = [
        {
            "GPU": cut.id,
            "free compute slices": cut.free_compute_slices,
            "free memory slices": cut.free_memory_slices,
            "wasted compute slices": cut.wasted_compute_slices,
            "wasted memory slices": cut.wasted_memory_slices,
            "could still be added": ", ".join(f"{count} x {profile}" for profile, count in cut.addable.items())
            or "nothing",
        }
        for cut in (plan.metrics.gpus if plan.metrics else ())
    ]
    return pd.DataFrame(rows)
