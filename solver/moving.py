"""The library's front door to what changes while services run: the way to another plan, and plans that move little."""

from .model.plan import Plan
from .model.transition import Durations, Strategy
from .transition.inputs import refuse_unusable
from .transition.planning import NONE_IDLE, UNCHANGED, PlannedTransition, plan_transition
from .transition.replay import replay
from .transition.tenancies import IdleGpus


class WrongTransitionError(RuntimeError):
    """A transition that its replay refutes: a mistake in sliceplan, not in the input."""


def transition(
    old: Plan,
    new: Plan,
    *,
    idle: IdleGpus = NONE_IDLE,
    strategy: Strategy = "least-disturbance",
    durations: Durations = UNCHANGED,
    fixed_starts: bool = False,
    sources: tuple[str, str] = ("old plan", "new plan"),
) -> PlannedTransition:
    """
    Returns the steps from the plan that is running to another, replayed at every cut of their graph.

    Parameters
    ----------
    idle
        GPUs beside those of both plans that may be used on the way.
    fixed_starts
        Whether the new plan's MIG instances must start where it says.
    sources
        Names of the two plans for error messages.

    Raises
    ------
    InputError
        If a plan has no GPUs, or GPUs that cannot be as it says.
    WrongTransitionError
        If the replay finds a mistake.
    """
    first, second = sources
    refuse_unusable({first: old, second if second != first else f"{second} (new)": new})
    planned = plan_transition(old, new, idle=idle, strategy=strategy, durations=durations, fixed_starts=fixed_starts)
    if wrong := replay(old, planned.assigned, planned.transition):
        raise WrongTransitionError("; ".join(wrong[:5]))
    return planned
