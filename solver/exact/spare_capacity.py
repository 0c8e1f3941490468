"""
Free partitions kept for two kinds of trouble, as constraints of the MIG cutting stock (cutting_stock.py).

Recourse, in both: what runs stays where it is; services are started in free instances that are already there. A free
instance of a size takes a partition of that size. The two kinds of trouble do not come together.

More rate. Any Gamma services at once need (1 + x) times their rate. Each gets e_wk further partitions of size k,
settled beforehand. With Gamma = 1 that loses nothing; with more, a choice that looks at who else needs some could be
cheaper.
    sum_k T_wk (n_wk + e_wk) >= (1 + x) R_w                         for every w
    F_k >= the greatest sum of e_wk over any Gamma services         for every k
  The second is Bertsimas and Sim's budget of uncertainty (Operations Research 52(1), 2004): it holds exactly if there
  are l_k, m_wk >= 0 with F_k >= Gamma l_k + sum_w m_wk and l_k + m_wk >= e_wk. Every worst case is met by the same free
  partitions, one size at a time.

Loss of a GPU. What ran on any one GPU fits into the free partitions of the others. On a GPU that is cut into a_k
instances of size k, u_k in use and f_k free, that asks for F_k - f_k >= u_k, which is F_k >= a_k. So
    F_k >= a_kq y_q,  x_q <= M y_q,  y_q in {0, 1}                  for every cut q in use, maximal or not
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any

from ortools.math_opt.python import mathopt

from ..model.problem import Settings
from ..performance.resolve import ResolvedProblem


@dataclass(frozen=True)
class SpareRules:
    """What free partitions are kept for."""

    services: int
    """Gamma: services that need more rate at once; 0: none."""
    rate: float
    """x: how much more, as a part of their rate."""
    gpu_loss: bool
    """Whether any one GPU may be lost."""


def spare_rules(settings: Settings) -> SpareRules | None:
    """Returns what a problem asks for; None: nothing."""
    services = settings.spare_services if settings.spare_rate > 0 else 0
    if not services and not settings.spare_gpu_loss:
        return None
    return SpareRules(services, settings.spare_rate, settings.spare_gpu_loss)


def add_spares(
    model: mathopt.Model,
    resolved: ResolvedProblem,
    rules: SpareRules,
    served: Mapping[tuple[int, int], Any],
    patterns: Sequence[tuple[Sequence[int], Any]],
) -> dict[int, Any]:
    """
    Adds the constraints; returns for each size the variable that counts its free partitions.

    Parameters
    ----------
    served
        (workload, size) -> variable that counts its partitions.
    patterns
        Instances of each size in a cut, and the variable that counts GPUs cut so.
    """
    free = {k: model.add_integer_variable(lb=0, name=f"F_{k}") for k in range(len(resolved.sizes))}
    if rules.services:
        _for_more_rate(model, resolved, rules, served, free)
    if rules.gpu_loss:
        _for_a_lost_gpu(model, resolved, served, patterns, free)
    return free


def _for_more_rate(
    model: mathopt.Model,
    resolved: ResolvedProblem,
    rules: SpareRules,
    served: Mapping[tuple[int, int], Any],
    free: Mapping[int, Any],
) -> None:
    capacity, required = resolved.capacity_rps, resolved.required_rps
    terms: dict[int, list[Any]] = {w: [] for w in range(len(required))}
    replicas: dict[int, list[Any]] = {w: [] for w in range(len(required))}
    extra: dict[tuple[int, int], Any] = {}
    for w, k in served:
        part = min(capacity[w, k] / required[w], 1e4)
        most = ceil(rules.rate / part)
        extra[w, k] = model.add_integer_variable(lb=0, ub=most, name=f"e_{w}_{k}")
        terms[w].append(part * (served[w, k] + extra[w, k]))
        replicas[w] += [served[w, k], extra[w, k]]
    for w, of_workload in terms.items():
        model.add_linear_constraint(mathopt.LinearSum(of_workload) >= 1 + rules.rate, name=f"more_{w}")
        most_replicas = resolved.problem.workloads[w].max_replicas
        if most_replicas is not None:
            model.add_linear_constraint(mathopt.LinearSum(replicas[w]) <= most_replicas, name=f"more_replicas_{w}")
    services = min(rules.services, len(required))
    for k, kept in free.items():
        budget = model.add_variable(lb=0, name=f"l_{k}")
        beyond = []
        for w in range(len(required)):
            if (w, k) in extra:
                above = model.add_variable(lb=0, name=f"m_{w}_{k}")
                model.add_linear_constraint(budget + above >= extra[w, k], name=f"worst_{w}_{k}")
                beyond.append(above)
        if beyond:
            model.add_linear_constraint(kept >= services * budget + mathopt.LinearSum(beyond), name=f"kept_{k}")


def _for_a_lost_gpu(
    model: mathopt.Model,
    resolved: ResolvedProblem,
    served: Mapping[tuple[int, int], Any],
    patterns: Sequence[tuple[Sequence[int], Any]],
    free: Mapping[int, Any],
) -> None:
    # No cheapest plan has more GPUs of a cut than partitions, each of them with as many again kept free.
    most = 2 * sum(
        ceil(resolved.required_rps[w] / resolved.capacity_rps[w, k]) + resolved.problem.workloads[w].min_replicas
        for w, k in served
    )
    for q, (instances, times) in enumerate(patterns):
        used = model.add_binary_variable(name=f"y_{q}")
        model.add_linear_constraint(times <= most * used, name=f"used_{q}")
        for k, number in enumerate(instances):
            if number:
                model.add_linear_constraint(free[k] >= number * used, name=f"lost_{q}_{k}")
