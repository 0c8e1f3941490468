"""
Verification of what a plan says in words: its warnings, and the SLOs that it says it misses.

Warnings are said again by caveats.py, the one home of their words. So this is for plans that are read from files; of a
plan that was made just now they are the same in any case.
"""

from collections import Counter
from collections.abc import Iterable, Iterator

from ..metrics.caveats import caveats
from ..model.plan import Plan, Status
from ..model.problem import Problem
from ..model.profile import Profile
from .violation import Violation, close


def wrong_warnings(problem: Problem, plan: Plan, profiles: Iterable[Profile]) -> Iterator[Violation]:
    """Yields the warnings that a plan lacks, or has without reason; the plan is right else."""
    known, stated = Counter(caveat.text for caveat in caveats(problem, plan, profiles)), Counter(plan.warnings)
    yield from (Violation("plan", f"warnings lacks {warning!r}") for warning in known - stated)
    yield from (Violation("plan", f"warnings has {warning!r} without reason") for warning in stated - known)


def wrong_violations(plan: Plan, found: Iterable[Violation]) -> Iterator[Violation]:
    """Yields what a violating plan says wrongly of the SLOs that it misses; `found`: all that is wrong with it."""
    if plan.status is not Status.VIOLATING:
        return
    missed = {(one.where, one.workload, one.message): one.excess for one in found if one.excess is not None}
    for i, stated in enumerate(plan.violations):
        excess = missed.pop((stated.gpu, stated.workload, stated.message), None)
        of = f"{stated.gpu} {stated.workload}" if stated.workload else stated.gpu
        if excess is None:
            yield Violation("plan", f"violations[{i}] says of {of} that it {stated.message}, which is not so")
        elif not close(excess, stated.excess):
            yield Violation("plan", f"violations[{i}].excess is {stated.excess:.6g}; {of} exceeds by {excess:.6g}")
    for where, workload, message in missed:
        of = f"{where} {workload}" if workload else where
        yield Violation("plan", f"violations lacks that {of} {message}")
