"""Transitions as tables: their steps, and how two strategies compare."""

from collections.abc import Iterator

import pandas as pd

from sliceplan.solver.model.transition import Disturbance, Transition
from sliceplan.solver.model.words import counted
from sliceplan.solver.wording.transition_text import few_names, rates_in_words, step_in_words


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


def meanwhile_in_words(transition: Transition) -> Iterator[str]:
    """Yields sentences on who is disturbed, what only bridges the way, and who keeps its rate: each of one thing."""
    if not transition.steps:
        yield f"Nothing to do: all {counted(transition.kept, 'partition')} stay as they are."
        return
    disturbed = transition.disturbed
    if disturbed.services:
        many = len(disturbed.services)
        proof = "; no way disturbs fewer, as is proven" if disturbed.proven else ""
        kept = "" if transition.shortfalls else ", while others keep the rate"
        yield (
            f"{counted(many, 'service')} {'is' if many == 1 else 'are'} disturbed: a running partition of "
            f"{'it' if many == 1 else 'each'} is stopped or moved{kept}. {few_names(disturbed.services)}{proof}."
        )
    else:
        yield "No service is disturbed: no running partition is stopped or moved."
    if transition.temporary:
        bridge, they = ("serves", "it is") if transition.temporary == 1 else ("serve", "they are")
        yield (
            f"{counted(transition.temporary, 'more partition')} {bridge} only on the way, so that rates are kept; "
            f"{they} gone at its end."
        )
    if transition.repinned:
        yield f"{counted(transition.repinned, 'partition')} of CPUs are given other cores while they run."
    yield from rates_in_words(transition)


def disturbance_in_words(disturbed: Disturbance) -> str:
    """Returns who counts as disturbed, and what is known of fewer."""
    if disturbed.proven:
        known = "No way to match today's GPUs to the new plan's disturbs fewer: all were searched or ruled out."
    elif disturbed.fewest is not None:
        known = "The search for a way to disturb fewer was ended by its time limit."
    else:
        known = "Whether another way disturbs fewer is not known."
    return f"Services of both plans of which a running partition is stopped or moved. {known}"
