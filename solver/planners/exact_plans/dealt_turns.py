"""The bound where shares slow each other by iGniter's model: GPUs dealt to services that take turns."""

from ...exact.turns.dealt_time.dealing import Dealt, TimeDealing
from ...exact.turns.dealt_time.time_needed import Needs
from ...performance.alone import each_kind
from ...performance.interference.prediction import Floats
from ...performance.resolve import ResolvedProblem
from ...performance.turns.turn_rule import TurnRule
from .slowed_shares import is_slowed_by_igniter


def dealing_of(resolved: ResolvedProblem, rule: TurnRule, elsewhere: Floats, dearest: float) -> TimeDealing | None:
    """
    Returns what deals GPUs whose shares slow each other, for the bound; None: what a percentile asks is not dealt.

    `elsewhere`, `dearest`: as of `TimeDealing`.
    """
    if rule.quantile is not None:
        return None
    types = [
        Dealt(entry.price_per_hour, mps, kinds)
        for entry in resolved.fleet
        if is_slowed_by_igniter(resolved, entry)
        for mps in (resolved.mps[entry.gpu.name],)
        if (kinds := [rows for rows, _ in each_kind(mps)])
    ]
    needs = Needs(rule.slo_ms, resolved.limit_ms, resolved.required_rps, rule.slots_kept)
    return TimeDealing(types, needs, elsewhere, dearest) if types else None
