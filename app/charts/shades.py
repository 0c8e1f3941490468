"""
By what the blocks of a fleet's picture are coloured: the service, or a figure in five steps, or a kind.

Steps are drawn in viridis (matplotlib.org, Smith and van der Walt 2015), which keeps its order in grey and for
colour-blind readers; every step and kind stands in the legend in words.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from sliceplan.solver.model.plan import Plan, Served
from sliceplan.solver.model.prices import usd_per_hour_of
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.performance.turns.rounds import execution_limit_ms

from .colours import PALETTE
from .fleet_blocks import Block

ColourBy = Literal["service", "load", "slack", "cost", "GPU type", "risk"]

COLOUR_BY: tuple[ColourBy, ...] = ("service", "load", "slack", "cost", "GPU type", "risk")

STEPS = ("#440154", "#3B528B", "#21918C", "#5EC962", "#FDE725")

LOADS = (0.5, 0.7, 0.85, 0.95)
SLACKS = (0.05, 0.15, 0.3, 0.5)
"""Where one step ends and the next begins, parts of one."""

RISKS = {"measured": PALETTE[2], "fitted": PALETTE[4], "estimated": PALETTE[1], "misses its SLO": PALETTE[5]}
"""What a prediction rests on, the surest first; a service that is late is beyond all of them."""


@dataclass(frozen=True)
class Shades:
    """A colour for each block that serves something, and what the colours mean."""

    of: Callable[[Block], str]
    """Name of a step or kind."""
    colours: Mapping[str, str]
    """Colour by that name, in the order of the legend."""


def shades(problem: Problem, plan: Plan, by: ColourBy) -> Shades | None:
    """Returns what to colour by; None: the service."""
    match by:
        case "load":
            names = _part_names(LOADS, "loaded")
            return Shades(lambda block: names[_step(_load(block), LOADS)], dict(zip(names, STEPS, strict=True)))
        case "slack":
            names = _part_names(SLACKS, "slack")
            slack = dict(zip(names, STEPS, strict=True))
            slo_ms = {workload.name: workload.slo_ms for workload in problem.workloads}
            return Shades(lambda block: names[_step(_slack(problem, slo_ms, block), SLACKS)], slack)
        case "cost":
            return _costs(problem, plan)
        case "GPU type":
            types = dict.fromkeys(gpu.gpu for gpu in plan.gpus)
            type_of = {gpu.id: gpu.gpu for gpu in plan.gpus}
            colours = {name: PALETTE[i % len(PALETTE)] for i, name in enumerate(types)}
            return Shades(lambda block: type_of[block.gpu_id], colours)
        case "risk":
            return Shades(_risk, RISKS)
    return None


def _costs(problem: Problem, plan: Plan) -> Shades:
    prices = usd_per_hour_of(problem)
    price_of = {gpu.id: prices.get(gpu.gpu) or 0.0 for gpu in plan.gpus}
    most = max(price_of.values(), default=0.0) or 1.0
    limits = tuple(most * part for part in (0.15, 0.3, 0.45, 0.6))
    names = [
        f"up to ${limits[0]:.2f}/h",
        *(f"${low:.2f} to ${high:.2f}/h" for low, high in pairwise(limits)),
        f"over ${limits[-1]:.2f}/h",
    ]

    def of(block: Block) -> str:
        return names[_step(price_of[block.gpu_id] * block.width, limits)]

    return Shades(of, dict(zip(names, STEPS, strict=True)))


def _part_names(limits: tuple[float, ...], what: str) -> list[str]:
    between = (f"{low:.0%} to {high:.0%} {what}" for low, high in pairwise(limits))
    return [f"up to {limits[0]:.0%} {what}", *between, f"over {limits[-1]:.0%} {what}"]


def _step(value: float, limits: tuple[float, ...]) -> int:
    return sum(value > limit for limit in limits)


def _load(block: Block) -> float:
    """Returns the part of its capacity that the block's busiest service takes."""
    return max((one.rate_rps / one.carries_rps for one in _served(block) if one.carries_rps), default=0.0)


def _slack(problem: Problem, slo_ms: Mapping[str, float], block: Block) -> float:
    """Returns what the latency of the block's tightest service leaves of what a batch may take there."""
    if block.partition is None:
        return 1.0
    left = [1.0]
    for one in block.partition.serves:
        if one.workload not in slo_ms:
            continue
        limit = execution_limit_ms(problem.settings, slo_ms[one.workload], block.partition, one)
        left.append(1 - one.latency_ms / limit if limit > 0 else 0.0)
    return min(left)


def _risk(block: Block) -> str:
    if block.misses:
        return "misses its SLO"
    names = list(RISKS)
    return max((str(one.basis) for one in _served(block)), key=names.index, default=names[0])


def _served(block: Block) -> tuple[Served, ...]:
    return () if block.partition is None else block.partition.serves
