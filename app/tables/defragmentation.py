"""What moving services wins, and the steps of the move, in tables."""

import pandas as pd

from sliceplan.solver.model.defragmentation_report import DefragmentationReport, DefragmentationStep
from sliceplan.solver.model.transition import Transition, TransitionStep
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH

WORDS = {
    "change_mode": "change the mode",
    "create": "create the instance",
    "start": "start the service",
    "redirect": "redirect requests",
    "repin": "move the service to other cores",
    "drain": "finish its requests",
    "stop": "stop the service",
    "destroy": "destroy the instance",
}


def winnings_table(report: DefragmentationReport) -> pd.DataFrame:
    """Returns one row a limit on moves: GPUs freed, USD saved against what runs, and what is proven."""
    today = report.cost_per_hour
    rows = []
    for step in report.steps:
        cost = step.plan.cost_per_hour if step.plan else None
        saved = None if cost is None or today is None else max(0.0, today - cost)
        rows.append(
            {
                "moves at most": moves_in_words(step),
                "services moved": len(step.moved) if step.plan else None,
                "GPUs": step.gpus_used,
                "GPUs freed": None if step.plan is None else report.gpus_used - step.plan.gpus_used,
                "cost per hour": cost,
                "saved per hour": saved,
                "saved per month": None if saved is None else saved * HOURS_A_MONTH,
                "proven": step.proven,
                "takes (min)": _minutes(step),
                "why not": step.reason,
            }
        )
    frame = pd.DataFrame(rows)
    if frame.empty:
        return frame
    if not any(step.reason for step in report.steps):
        frame = frame.drop(columns="why not")
    whole = dict.fromkeys(("services moved", "GPUs", "GPUs freed"), "Int64")
    floats = dict.fromkeys(("cost per hour", "saved per hour", "saved per month", "takes (min)"), "float64")
    return frame.astype({**whole, **floats})


def _minutes(step: DefragmentationStep) -> float | None:
    if step.transition is None:
        return None if step.moved or step.plan is None else 0.0
    return step.transition.estimated_s / 60


def moves_in_words(step: DefragmentationStep) -> str:
    """Returns the limit on moves."""
    return "any number" if step.most_moves is None else f"{step.most_moves:,}"


def steps_table(transition: Transition) -> pd.DataFrame:
    """Returns the steps in the order of their estimated begin; times in seconds from the beginning."""
    order = sorted(transition.steps, key=lambda step: (step.starts_s, step.gpu, step.id))
    rows = [
        {
            "from (s)": step.starts_s,
            "to (s)": step.ends_s,
            "GPU": step.gpu,
            "place": _place(step),
            "step": _words(step),
            "services": ", ".join(step.workloads),
            "temporary": step.temporary,
        }
        for step in order
    ]
    return pd.DataFrame(rows)


def _place(step: TransitionStep) -> str:
    if step.mig_profile is not None:
        return f"{step.mig_profile} at {step.start}"
    return "whole GPU" if step.sm_percent is None else f"{step.sm_percent:g} %"


def _words(step: TransitionStep) -> str:
    if step.kind == "change_mode":
        return f"{WORDS[step.kind]} to {step.mode}" + (" (GPU reset)" if step.needs_reset else "")
    if step.kind == "redirect":
        gains = min((step.capacity_rps or {"": 0.0}).values()) > 0
        return f"{WORDS[step.kind]} {'here' if gains else 'away'}"
    return WORDS[step.kind]
