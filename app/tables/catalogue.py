"""What the catalogue and the profiles know, for those who choose from them."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import pandas as pd

from sliceplan.solver.model.hardware import Gpu
from sliceplan.solver.model.price_book import PriceBook
from sliceplan.solver.model.profile import Profile, merged
from sliceplan.solver.model.sharing import Sharing
from sliceplan.solver.performance.operating_points import operating_points
from sliceplan.solver.wording.sharing_words import sharing_in_words


@dataclass(frozen=True)
class ModelFacts:
    """What is known of a model on one GPU type."""

    model: str
    gpu: str
    kind: str
    """measured, fitted or estimated."""
    sharing: tuple[Sharing, ...]
    """The kinds of sharing for which it is known."""
    least_batch: int
    most_batch: int
    least_ms: float
    """Latency of one batch, the shortest on any partition."""
    most_ms: float


def catalogue_table(gpus: Iterable[Gpu], profiles: Iterable[Profile], book: PriceBook) -> pd.DataFrame:
    """Returns what to know of GPU types before choosing, priced by a book; those with profiles come first."""
    models: dict[str, set[str]] = {}
    for profile in profiles:
        models.setdefault(profile.gpu, set()).add(profile.model)
    rows = [
        {
            "gpu": gpu.name,
            "profiled models": len(models.get(gpu.name, ())),
            "architecture": gpu.architecture,
            "memory, GiB": gpu.memory_gib.value,
            "SMs": int(gpu.sm_count.value),
            "MIG profiles": ", ".join(mig.name for mig in gpu.mig.profiles if mig.kind == "base")
            if gpu.mig
            else "no MIG",
            "$ per hour": price.usd_per_gpu_hour if price else None,
            "price from": f"{book.name}, {price.date}" if price else f"not in {book.name}: state one",
        }
        for gpu in gpus
        for price in [book.price(gpu.name)]
    ]
    frame = pd.DataFrame(rows).astype({"$ per hour": "float64"})
    return frame.sort_values("profiled models", ascending=False, kind="stable", ignore_index=True)


def model_facts(profiles: Iterable[Profile]) -> tuple[ModelFacts, ...]:
    """Returns what is known of each model on each GPU type, by model."""
    found = []
    for profile in merged(profiles).values():
        points = list(operating_points(profile).values())
        if not points:
            continue
        mps: tuple[Sharing, ...] = ("mps",) if profile.interference is not None else ()
        mig: tuple[Sharing, ...] = ("mig",) if profile.mig_points or profile.curves else ()
        alone: tuple[Sharing, ...] = ("exclusive",) if profile.interference is not None or profile.share_points else ()
        found.append(
            ModelFacts(
                profile.model,
                profile.gpu,
                profile.quality,
                (*mig, *mps, *alone),
                min(int(sizes.batch.min()) for sizes in points),
                max(int(sizes.batch.max()) for sizes in points),
                min(float(sizes.latency_ms.min()) for sizes in points),
                max(float(sizes.latency_ms.max()) for sizes in points),
            )
        )
    return tuple(sorted(found, key=lambda facts: (facts.model, facts.gpu)))


def models_table(facts: Iterable[ModelFacts]) -> pd.DataFrame:
    """Returns facts of models as a table."""
    rows = [
        {
            "model": one.model,
            "GPU type": one.gpu,
            "for": sharing_in_words(one.sharing),
            "batch sizes": f"{one.least_batch} to {one.most_batch}",
            "latency of a batch, ms": f"{_ms(one.least_ms)} to {_ms(one.most_ms)}",
            "figures are": one.kind,
        }
        for one in facts
    ]
    return pd.DataFrame(
        rows, columns=["model", "GPU type", "for", "batch sizes", "latency of a batch, ms", "figures are"]
    )


def on_fleet(facts: Iterable[ModelFacts], fleet: Mapping[str, Iterable[str]]) -> list[ModelFacts]:
    """Returns the facts for the GPU types of a fleet, given as type -> kinds of sharing, that the fleet can use."""
    return [one for one in facts if set(one.sharing) & set(fleet.get(one.gpu, ()))]


def free_name(wanted: str, taken: Iterable[str]) -> str:
    """Returns the name, with the first number behind it that makes it a new one."""
    names = set(taken)
    if wanted not in names:
        return wanted
    return next(name for i in range(2, len(names) + 3) if (name := f"{wanted}-{i}") not in names)


def _ms(time: float) -> str:
    return f"{time:,.0f}" if time >= 100 else f"{time:.3g}"
