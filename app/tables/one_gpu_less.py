"""Whether a plan's bound already says that none of its GPUs can be left out."""

from sliceplan.solver.model.plan import Plan, Status

LEAST_USD = 1e-6
"""USD per hour by which a cost has to be below a bound: sums of prices are rounded."""


def saves_no_gpu(plan: Plan) -> bool:
    """
    Tells whether it is proven that no plan does with a plan's GPUs less any one of them, however they are divided.

    Such a plan would cost at most this one's cost less the price of the GPU that is left out, and so at most the cost
    less the least of the prices. Where that is below the bound on every plan's cost, there is none. False where nothing
    is proven of the cost, a price is not known, or a service has no place.
    """
    bound, cost = plan.bound.cost_per_hour, plan.cost_per_hour
    if plan.capacity is not None or plan.status is Status.VIOLATING or plan.unserved:
        return False
    if not plan.gpus or bound is None or cost is None:
        return False
    prices = {price.gpu: price.usd_per_hour for price in plan.gpu_prices or ()}
    if any(gpu.gpu not in prices for gpu in plan.gpus):
        return False
    return cost - min(prices[gpu.gpu] for gpu in plan.gpus) < bound - LEAST_USD
