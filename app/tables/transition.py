"""Transitions as tables: their steps, and how two strategies compare."""

import pandas as pd

from sliceplan.solver.model.transition import Disturbance, Transition
from sliceplan.solver.wording.transition_text import step_in_words


def steps_table(transition: Transition) -> pd.DataFrame:
    """Returns one row a step, in the order of their estimated begin; times in seconds."""
    order = sorted(transition.steps, key=lambda step: (step.starts_s, step.gpu, step.id))
    return pd.DataFrame(
        [
            {
                "step": step.id,
                "begins (s)": step.starts_s,
                "ends (s)": step.ends_s,
                "kind": step.kind,
                "what": step_in_words(step),
                "services": ", ".join(step.workloads),
                "waits for": ", ".join(map(str, step.after)),
            }
            for step in order
        ],
        columns=["step", "begins (s)", "ends (s)", "kind", "what", "services", "waits for"],
    )


def strategies_table(*transitions: Transition | None) -> pd.DataFrame:
    """Returns one row a strategy with the figures to compare; None is left out."""
    return pd.DataFrame(
        [
            {
                "strategy": one.strategy,
                "services disturbed": len(one.disturbed.services),
                "partitions not touched": one.kept,
                "moved or stopped": one.moved,
                "temporary": one.temporary,
                "mode changes": one.mode_changes,
                "GPU resets": one.resets,
                "services short": len(one.shortfalls),
                "requests lost": sum(short.lost_requests for short in one.shortfalls),
                "time (s)": one.estimated_s,
                "GPUs at once": one.peak_gpus,
                "steps": len(one.steps),
            }
            for one in transitions
            if one is not None
        ]
    )


def disturbance_in_words(disturbed: Disturbance) -> str:
    """Returns who counts as disturbed, and what is known of fewer."""
    if disturbed.proven:
        known = "No way to match today's GPUs to the new plan's disturbs fewer: all were searched or ruled out."
    elif disturbed.fewest is not None:
        known = "The search for a way to disturb fewer was ended by its time limit."
    else:
        known = "Whether another way disturbs fewer is not known."
    return f"Services of both plans of which a running partition is stopped or moved. {known}"
