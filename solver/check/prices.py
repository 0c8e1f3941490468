"""What a plan says of its GPUs' prices: amount, price book, date and factor are those of its problem, type by type."""

from collections.abc import Iterator

from ..model.plan import Plan
from ..model.price_book import GpuPrice
from ..model.prices import prices_of
from ..model.problem import Problem
from .violation import Violation, close


def wrong_prices(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Yields the GPU types whose stated price is not the problem's; a plan that states none is of before."""
    if plan.gpu_prices is None:
        return
    expected = {price.gpu: price for price in prices_of(problem)}
    for stated in plan.gpu_prices:
        known = expected.pop(stated.gpu, None)
        if known is None:
            yield Violation("plan", f"gpu_prices lists {stated.gpu} once too often, or it has no price in the problem")
        elif not _same(stated, known):
            yield Violation("plan", f"gpu_prices says that {stated.gpu} costs {_said(stated)}; it costs {_said(known)}")
    for price in expected.values():
        yield Violation("plan", f"gpu_prices lacks {price.gpu}, which costs {_said(price)}")


def _same(stated: GpuPrice, known: GpuPrice) -> bool:
    words = (stated.book, stated.date, stated.factor) == (known.book, known.date, known.factor)
    return words and close(stated.usd_per_hour, known.usd_per_hour)


def _said(price: GpuPrice) -> str:
    if price.book is None:
        return f"{price.usd_per_hour:.6f} by the problem itself"
    times = "" if price.factor is None else f" times {price.factor:g}"
    return f"{price.usd_per_hour:.6f} by {price.book} of {price.date}{times}"
