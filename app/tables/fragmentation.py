"""What is left of each GPU, and what still fits there."""

from collections import Counter

import pandas as pd

from sliceplan.solver.model.plan import Metrics, Plan
from sliceplan.solver.wording.sharing_words import SHARING_WORDS


def fragmentation_table(plan: Plan, metrics: Metrics | None = None) -> pd.DataFrame:
    """
    Returns one row a GPU: what is free and what is wasted of it, without columns that none of them fills.

    `metrics`: the plan's, where it does not carry them.
    """
    metrics = metrics or plan.metrics
    sharing = {gpu.id: gpu.sharing for gpu in plan.gpus}
    rows = [
        {
            "GPU": cut.id,
            "sharing": SHARING_WORDS[sharing[cut.id]],
            "one of these still fits": _addable(cut.addable) if sharing[cut.id] == "mig" else None,
            "free compute slices": cut.free_compute_slices,
            "free memory slices": cut.free_memory_slices,
            "compute out of reach": cut.wasted_compute_slices,
            "memory out of reach": cut.wasted_memory_slices,
            "free share (%)": cut.free_percent,
            "free cores": cut.free_cores,
            "power (W)": cut.power_demand_w,
            "clock (MHz)": cut.frequency_mhz,
        }
        for cut in (metrics.gpus if metrics else ())
    ]
    frame = pd.DataFrame(rows)
    slices = {name: "Int64" for name in frame.columns if name.endswith(("slices", "reach", "cores"))}
    return frame.astype(slices).dropna(axis="columns", how="all")


def room_table(plan: Plan, metrics: Metrics | None = None) -> pd.DataFrame:
    """Returns one row a GPU type and MIG profile: how many more of it alone would fit, and on how many GPUs."""
    metrics = metrics or plan.metrics
    kind = {gpu.id: gpu.gpu for gpu in plan.gpus}
    most, on = Counter[tuple[str, str]](), Counter[tuple[str, str]]()
    for cut in metrics.gpus if metrics else ():
        for profile, count in cut.addable.items():
            most[kind[cut.id], profile] += count
            on[kind[cut.id], profile] += 1
    rows = [
        {"GPU type": gpu, "profile": profile, "at most": count, "on GPUs": on[gpu, profile]}
        for (gpu, profile), count in most.items()
    ]
    return pd.DataFrame(rows, columns=["GPU type", "profile", "at most", "on GPUs"])


def _addable(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} x {profile}" for profile, count in counts.items()) or "nothing"
