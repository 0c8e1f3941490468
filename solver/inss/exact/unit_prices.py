"""
Prices of units alone: a limit without interference at any size, what models take at them, and a first placement.

    min over p >= 0 of  sum_i max over g, u of (o_ig(u) - p_g u) + sum_g p_g N_g U_g

is at least what any decision has, whatever p, if o_ig(u) is at least what model i counts on u units of a GPU of type g:
each GPU has U_g units, and interference only lowers what is carried. The least is reached by the dual of the linear
program in which each model takes parts of choices (g, u); of many models some are in it, which tell p well enough.
"""

from collections.abc import Sequence

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import csc_array

from ...performance.interference.prediction import Floats
from ..latency import Ints
from .alike_models import some_of
from .set_values import NEVER, Asked

LEFT_OUT = 10.0
"""
What a model costs that has no place in a linear program, in what the best counts at most (scale_of): so that there
always is a solution.
"""


def unit_prices(own: Sequence[Floats], counts: Ints, time_limit_s: float = np.inf) -> tuple[Floats, Floats, float]:
    """
    Returns a price of units by type, prices of the models that follow from it, and the limit that they prove.

    Parameters
    ----------
    own
        By type, shape (model, units): o, -inf where so many units are not enough.
    counts
        Shape (type,): GPUs.
    time_limit_s
        Of the linear program, without whose solution a price of 0 proves the limit.
    """
    units = np.array([one.shape[1] for one in own])
    some = some_of(np.max([one.max(axis=1) for one in own], axis=0))
    few, gpus = [one[some] for one in own], counts * (len(some) / len(own[0]))
    choices = [np.argwhere(one > NEVER) for one in few]
    model = np.concatenate([one[:, 0] for one in choices])
    kind = np.concatenate([np.full(len(one), k) for k, one in enumerate(choices)])
    used = np.concatenate([one[:, 1] + 1.0 for one in choices])
    worth = np.concatenate([one[at[:, 0], at[:, 1]] for one, at in zip(few, choices, strict=True)])
    scale, count, numbers = scale_of(own), len(some), np.arange(len(model))
    price = np.zeros(len(units))
    if len(model):
        found = linprog(  # type: ignore[call-overload]  # its stubs know no sparse arrays, which it takes
            -worth / scale,
            A_ub=csc_array((used, (kind, numbers)), shape=(len(units), len(model))),
            b_ub=units * gpus,
            A_eq=csc_array((np.ones(len(model)), (model, numbers)), shape=(count, len(model))),
            b_eq=np.ones(count),
            method="highs",
            options={"time_limit": time_limit_s},
        )
        if found.x is not None:
            price = np.maximum(-np.asarray(found.ineqlin.marginals), 0.0) * scale
    left = [one - p * np.arange(1, n + 1) for one, p, n in zip(own, price, units, strict=True)]
    prices: Floats = np.max([one.max(axis=1) for one in left], axis=0)
    limit = float(prices.sum() + (price * units) @ counts)
    return price, np.where(np.isfinite(prices), prices, 0.0), limit + 1e-9 * abs(limit)


def scale_of(own: Sequence[Floats]) -> float:
    """Returns the most that any model counts, 1 if none does: what numbers of a linear program are divided by."""
    return max(float(one[one > NEVER].max(initial=0.0)) for one in own) or 1.0


def wishes(own: Sequence[Floats], price: Floats) -> tuple[Floats, Ints]:
    """Returns what models are worth at most beyond the price of their units, and these, shape (type, model) each."""
    left = [one - p * np.arange(1, one.shape[1] + 1) for one, p in zip(own, price, strict=True)]
    return np.array([one.max(axis=1) for one in left]), np.array([one.argmax(axis=1) + 1 for one in left])


def first_members(
    asked: Asked, own: Sequence[Floats], price: Floats, worth: Floats, wish: Ints
) -> list[frozenset[int]]:
    """
    Returns the models of each GPU: the ones that would take most units first, where most units are left.

    Sets may be impossible; `own`, `price`, `worth` and `wish`: as above.
    """
    latencies = asked.latencies
    kinds = np.array(latencies.type_of_gpu)
    usual = latencies.base_memory + latencies.item_memory * latencies.most_batch / 2
    free = np.array([one.shape[1] for one in own], dtype=np.float64)[kinds]
    memory = np.array([one.memory_mib for one in latencies.problem.gpus])[kinds]
    dear = np.maximum(price, 1e-9 * scale_of(own))
    members: list[set[int]] = [set() for _ in kinds]
    for i in np.argsort(-wish.max(axis=0), kind="stable").tolist():
        lost = np.where(worth[:, i] > NEVER, (worth[:, i] - worth[:, i].max()) / dear, -1e6)
        k = int((free + lost[kinds] - 1e3 * (memory < usual[i])).argmax())
        members[k].add(i)
        free[k] -= wish[kinds[k], i]
        memory[k] -= usual[i]
    return [frozenset(one) for one in members]
