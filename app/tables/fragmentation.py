"""What is left of each GPU, and what still fits there."""

from collections import Counter
from collections.abc import Iterable

import pandas as pd

from sliceplan.solver.model.plan import Metrics, Plan
from sliceplan.solver.wording.sharing_words import SHARING_WORDS

FIT, WITH_ROOM = "how many fit", "GPUs with room"
"""Columns of `room_table`."""


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
            "free slices": _slices(cut.free_compute_slices, cut.free_memory_slices),
            "out of reach": _slices(cut.wasted_compute_slices, cut.wasted_memory_slices),
            "free share (%)": cut.free_percent,
            "free cores": cut.free_cores,
            "power (W)": cut.power_demand_w,
            "clock (MHz)": cut.frequency_mhz,
        }
        for cut in (metrics.gpus if metrics else ())
    ]
    frame = pd.DataFrame(rows)
    return frame.astype({name: "Int64" for name in frame.columns if name == "free cores"}).dropna(axis=1, how="all")


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
        {"GPU type": gpu, "profile": profile, FIT: count, WITH_ROOM: on[gpu, profile]}
        for (gpu, profile), count in most.items()
    ]
    return pd.DataFrame(rows, columns=["GPU type", "profile", FIT, WITH_ROOM])


def variants_in_words(profiles: Iterable[str]) -> str:
    """Returns what the ends of some MIG profiles' names mean, in a sentence each; empty where none has such an end."""
    ends = [(end, means) for end, means in VARIANTS.items() if any(profile.endswith(end) for profile in profiles)]
    return ". ".join(f"{end} after a size: {means}" for end, means in ends) + "." if ends else ""


VARIANTS = {
    "+me": "an instance with engines that decode video and pictures, which only few instances of a GPU can have",
    "+me.all": "an instance with all such engines of the GPU",
    "-me": "an instance without such engines",
    "+gfx": "an instance that can draw graphics too",
}
"""By the end of a MIG profile's name."""


def _slices(compute: int | None, memory: int | None) -> str | None:
    if compute is None and memory is None:
        return None
    counts = ((compute, "compute"), (memory, "memory"))
    return ", ".join(f"{count} {kind}" for count, kind in counts if count) or "none"


def _addable(counts: dict[str, int]) -> str:
    return ", ".join(f"{count} x {profile}" for profile, count in counts.items()) or "nothing"
