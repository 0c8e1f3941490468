"""Jobs for what changes while services run; their functions run in worker processes, which load the solvers."""

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from hashlib import sha256
from typing import Any

from sliceplan.solver.formats.plan_files import dump_plan
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.profile import Profile
from sliceplan.solver.model.replan_report import ReplanReport
from sliceplan.solver.model.transition import Durations, Transition
from sliceplan.solver.transition.risks import Risk, risks

QUICK_STEPS = 500
"""Up to so many steps, the published strategy is tried at once; beyond, only when somebody asks for it."""

DEFAULT_DURATIONS = Durations()


@dataclass(frozen=True)
class MoveOptions:
    """How a transition is to be planned."""

    idle: Mapping[str, int] = field(default_factory=dict)
    """GPU type -> idle GPUs that may be used on the way."""
    durations: Durations = DEFAULT_DURATIONS
    keeps_starts: bool = False
    """Whether MIG instances must start where the next plan says."""


@dataclass(frozen=True)
class PlannedMoves:
    """A transition, the plan that it leads to, and what a published strategy would do instead."""

    old: Plan
    assigned: Plan
    """The next plan with the GPUs and places that it gets."""
    transition: Transition
    exchange: Transition | None
    """By exchange-and-compact; None: it was not tried, or finds no way."""
    risks: tuple[Risk, ...]

    @cached_property
    def json_text(self) -> str:
        """The transition as `sliceplan transition --json` writes it."""
        return json.dumps(self.transition.model_dump(mode="json"), indent=1, ensure_ascii=False) + "\n"

    @cached_property
    def assigned_text(self) -> str:
        """The assigned plan as `sliceplan transition --output` writes it."""
        return dump_plan(self.assigned)

    @cached_property
    def old_text(self) -> str:
        """What runs today, as a plan file."""
        return dump_plan(self.old)

    @cached_property
    def digest(self) -> str:
        """Equal for equal transitions between equal plans."""
        return sha256((self.json_text + self.assigned_text + self.old_text).encode()).hexdigest()


@dataclass(frozen=True)
class Replanned:
    """A plan that moves less, and what it trades for that."""

    plan: Plan
    report: ReplanReport


def plan_moves(old: Plan, new: Plan, options: MoveOptions) -> PlannedMoves:
    """Returns the way from one plan to another; raises InputError if one of them cannot run."""
    from sliceplan.solver.api import moving
    from sliceplan.solver.runtime.progress import report

    planned = moving.transition(old, new, **_options(options))
    transition = planned.transition
    exchange = None
    if len(transition.steps) <= QUICK_STEPS:
        report(f"{len(transition.steps):,} steps; now by exchange-and-compact, to compare")
        # Without the comparison, the transition that is shown is as good.
        with suppress(Exception):
            exchange = exchange_moves(old, new, options)
    return PlannedMoves(old, planned.assigned, transition, exchange, tuple(risks(transition, old, new)))


def exchange_moves(old: Plan, new: Plan, options: MoveOptions) -> Transition:
    """Returns the transition by exchange-and-compact; errors as for `moving.transition`."""
    from sliceplan.solver.api import moving

    return moving.transition(old, new, strategy="exchange-and-compact", **_options(options)).transition


def _options(options: MoveOptions) -> dict[str, Any]:
    from sliceplan.solver.transition.tenancies import IdleGpus

    return {
        "idle": IdleGpus(options.idle),
        "durations": options.durations,
        "fixed_starts": options.keeps_starts,
        "sources": ("what runs today", "the next plan"),
    }


def replan(
    problem: Problem,
    running: Plan,
    profiles: Sequence[Profile],
    move_price: float | None,
    most_moves: int | None,
) -> Replanned:
    """Returns the plan that trades cost for moves; arguments and errors as for `moving.replan`."""
    from sliceplan.solver.api import moving

    plan, report = moving.replan(
        problem,
        running,
        move_price=move_price,
        most_moves=most_moves,
        profiles=profiles,
        sources=("the problem", "what runs today"),
    )
    return Replanned(plan, report)
