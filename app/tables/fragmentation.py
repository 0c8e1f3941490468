"""What is left of each GPU, and what still fits there."""

import pandas as pd

from sliceplan.solver.model.plan import Plan


def fragmentation_table(plan: Plan) -> pd.DataFrame:
    """Returns one row a GPU: what is free and what is wasted of it, without columns that none of them fills."""
    sharing = {gpu.id: gpu.sharing for gpu in plan.gpus}
    rows = [
        {
            "GPU": cut.id,
            "sharing": sharing[cut.id],
            "free compute slices": cut.free_compute_slices,
            "free memory slices": cut.free_memory_slices,
            "wasted compute slices": cut.wasted_compute_slices,
            "wasted memory slices": cut.wasted_memory_slices,
            "could still be added": _addable(cut.addable) if sharing[cut.id] == "mig" else None,
            "free share (%)": cut.free_percent,
            "power (W)": cut.power_demand_w,
            "clock (MHz)": cut.frequency_mhz,
        }
        for cut in (plan.metrics.gpus if plan.metrics else ())
    ]
    frame = pd.DataFrame(rows)
    slices = {name: "Int64" for name in frame.columns if name.endswith("slices")}
    return frame.astype(slices).dropna(axis="columns", how="all")


def _addable(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} x {profile}" for profile, count in counts.items()) or "nothing"
