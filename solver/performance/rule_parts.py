"""
Whether a plan deals a service that several GPUs serve as iGniter's rules do.

The rules (`igniter_rules.py`) count a dedicated GPU with 0.9 of what it carries, and place a rest that carries what is
left. A planner that ignores neighbours may give the rest less than that. Its plan can hold nonetheless, as rates are
dealt by what each partition carries in the end: the dedicated GPUs take more than the rules count them with. Such a
plan is none that the rules allow, and may cost less than any that they do.
"""

from ..model.plan import Plan
from .igniter_rules import IgniterDemands, demands
from .resolve import ResolvedProblem

ROUNDING = 1e-9


def carries_the_parts(resolved: ResolvedProblem, plan: Plan) -> bool:
    """
    Tells whether the partitions under MPS of every service carry what iGniter's rules ask of each.

    They do if the k-th greatest rate that one carries is at least the k-th greatest part, for every k. A service with
    one partition under MPS, or with some that are not under MPS, is taken to.
    """
    rates: dict[tuple[str, str], list[float]] = {}
    elsewhere = set()
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                if gpu.sharing == "mps":
                    rates.setdefault((served.workload, gpu.gpu), []).append(served.carries_rps)
                else:
                    elsewhere.add(served.workload)
    number = {workload.name: w for w, workload in enumerate(resolved.problem.workloads)}
    for (name, gpu_type), carried in rates.items():
        if len(carried) == 1 or name in elsewhere:
            continue
        asked = demands(resolved, resolved.mps[gpu_type], [number[name]])
        if not isinstance(asked, IgniterDemands):
            return False
        parts = sorted((one.required_rps for one in (*asked.dedicated, *asked.shared)), reverse=True)
        enough = zip(sorted(carried, reverse=True), parts, strict=False)
        if len(parts) != len(carried) or any(has < part * (1 - ROUNDING) for has, part in enough):
            return False
    return True
