"""
Who plans a problem where nobody named a planner: the one whose answer is proven, for problems of its kind.

That is `exact`, and `exact-turns` where services may take turns. Whatever else `exact` refuses (most capacity with CPUs
in the fleet, partitions kept free under MPS, ...) no other planner proves either: they know neither most capacity nor
CPUs nor free partitions. Then its refusal says why.
"""

from .problem import Problem


def proving_planner(problem: Problem) -> str:
    """Returns the name of the planner that proves the problems of such settings."""
    return "exact" if problem.settings.turns == "none" else "exact-turns"
