"""What a what-if moves, what forces the steps of a sweep, and what GPU types could be bought, as tables."""

from collections import Counter
from collections.abc import Iterable, Sequence

import pandas as pd

from sliceplan.solver.differences.plans import Move, Place
from sliceplan.solver.model.catalogue import load_catalogue, load_cpus
from sliceplan.solver.model.parsing import parse_record
from sliceplan.solver.model.prices import book_of, price_of
from sliceplan.solver.model.problem import FleetEntry, Problem, Sharing
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.sweep_report import FleetMix, SweepReport
from sliceplan.solver.what_if.steps import description
from sliceplan.solver.wording.axis_words import axis_in_words
from sliceplan.solver.wording.sharing_words import sharing_in_words

from .problem import ways_in


def moved_table(moved: Sequence[Move]) -> pd.DataFrame:
    """Returns one row a service that other partitions serve; the greatest change of their number first."""
    rows = [
        {
            "service": move.workload,
            "places": len(move.new),
            "change": len(move.new) - len(move.old),
            "before": _places(move.old),
            "what-if": _places(move.new),
        }
        for move in moved
    ]
    frame = pd.DataFrame(rows, columns=["service", "places", "change", "before", "what-if"])
    return frame.sort_values("change", key=lambda change: -change.abs(), kind="stable", ignore_index=True)


def step_table(report: SweepReport) -> pd.DataFrame:
    """Returns one row a rise of the cost along the first axis, in the order of the sweep."""
    first, *others = report.axes
    values = {point.index: point.values for point in report.points}
    rows = []
    for step in report.steps:
        before, after = values[step.cheaper], values[step.dearer]
        gpus, _, because = description(step).partition(": ")
        row = {f"{axis_in_words(first.kind, first.of)}: from": before[0], "to": after[0]}
        row |= {axis_in_words(one.kind, one.of): value for one, value in zip(others, after[1:], strict=True)}
        rows.append(row | {"adds per hour": step.added_per_hour, "GPUs": gpus, "forced by": because})
    return pd.DataFrame(rows)


def mix_table(mix: FleetMix) -> pd.DataFrame:
    """Returns one row a GPU type: what the services would cost on it alone, or why it cannot serve them."""
    rows = [
        {
            "GPU": single.gpu,
            "in the mix": mix.gpus.get(single.gpu, 0),
            "alone": f"{single.gpus:,}" if single.cost_per_hour is not None else "",
            "alone, per hour": "" if single.cost_per_hour is None else f"${single.cost_per_hour:,.2f}",
            "why not alone": single.reason or "",
        }
        for single in mix.single
    ]
    return pd.DataFrame(rows)


def candidate_table(problem: Problem, profiles: Iterable[Profile]) -> pd.DataFrame:
    """Returns one row a GPU type that some service of the problem has measurements on; those of its fleet are in."""
    models = {workload.model for workload in problem.workloads}
    measured = {profile.gpu for profile in profiles if profile.model in models}
    own, book = {entry.gpu: entry for entry in problem.fleet}, book_of(problem)
    rows = []
    usual: dict[str, Sharing] = {name: "mig" if gpu.mig else "mps" for name, gpu in load_catalogue().items()}
    for name, sharing in (usual | dict.fromkeys(load_cpus(), "cores")).items():
        if name not in measured and name not in own:
            continue
        entry = own.get(name) or FleetEntry(gpu=name, sharing=(sharing,))
        price = price_of(entry, book)
        rows.append(
            {
                "try": name in own,
                "GPU": name,
                "price per hour": price.usd_per_hour if price else None,
                "sharing": sharing_in_words(entry.sharing),
            }
        )
    return pd.DataFrame(rows).astype({"price per hour": "float64"})


def candidates(frame: pd.DataFrame, problem: Problem) -> list[FleetEntry]:
    """
    Returns the chosen types of a `candidate_table`, as many GPUs of each as needed; InputError for a wrong price.

    A price that was not changed stays what it was, the problem's own or its price book's.
    """
    own, book = {entry.gpu: entry for entry in problem.fleet}, book_of(problem)
    entries = []
    for row in frame[frame["try"]].to_dict("records"):
        price = None if pd.isna(row["price per hour"]) else float(row["price per hour"])
        entry = own.get(row["GPU"]) or FleetEntry(gpu=row["GPU"], sharing=ways_in(row["sharing"]))
        known = price_of(entry, book)
        kept = known is not None and price == known.usd_per_hour
        paid = {
            "price_per_hour": entry.price_per_hour if kept else price,
            "price_factor": entry.price_factor if kept else None,
        }
        data = {"gpu": row["GPU"], **paid, "sharing": entry.sharing}
        entries.append(parse_record(FleetEntry, data, row["GPU"]))
    return entries


def _places(places: Sequence[Place]) -> str:
    counts = Counter(map(str, places))
    return ", ".join(f"{count} x {place}" if count > 1 else place for place, count in counts.items()) or "nowhere"
