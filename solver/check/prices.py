"""
Verification of the prices of a plan: of its GPUs, and of partitions where the planner found such (`prices`).

What a GPU costs: amount, price book, date and factor are those of the problem, type by type.

What a partition is worth is a claim of the planner (exact/dual/lagrangian_dual.py). Of it is checked that the prices
are a solution of the dual program: no cut of a GPU is worth more than the GPU and the rent of its type, and a rent is
what makes that so, at the least; where GPUs are unlimited it is 0. That they prove the bound is not checked.
"""

from collections import Counter
from collections.abc import Iterator
from functools import cache

from ..model.catalogue import load_catalogue, load_cpus
from ..model.plan import Plan, Prices, SizePrice
from ..model.price_book import GpuPrice
from ..model.prices import prices_of, usd_per_hour_of
from ..model.problem import FleetEntry, Problem
from ..model.sharing import cores_in_words, cores_named
from .cores import most_worth_of_cores
from .room import most_worth
from .violation import RELATIVE, Violation, close


def wrong_slice_prices(problem: Problem, plan: Plan) -> Iterator[Violation]:
    """Yields what is wrong with the prices of partitions; a plan without them says nothing."""
    stated = plan.prices
    if stated is None:
        return
    entries = {entry.gpu: entry for entry in problem.fleet}
    for (gpu, mig_profile), times in Counter((one.gpu, one.mig_profile) for one in stated.sizes).items():
        if times > 1:
            yield Violation("plan", f"prices.sizes lists {_size(gpu, mig_profile)} {times} times")
    unknown = [one for one in stated.sizes if not _is_offered(entries.get(one.gpu), one)]
    for one in unknown:
        yield Violation("plan", f"prices.sizes lists {_size(one.gpu, one.mig_profile)}, which the fleet does not offer")
    shared = {entry.gpu for entry in problem.fleet if "mps" in entry.sharing}
    for field, types, expected in (("rents", set(stated.rents), set(entries)), ("shared", set(stated.shared), shared)):
        for gpu in sorted(types ^ expected):
            wrong = "lacks" if gpu in expected else "lists"
            yield Violation(
                "plan", f"prices.{field} {wrong} {gpu}: expected {', '.join(sorted(expected)) or 'nothing'}"
            )
    for entry in problem.fleet:
        yield from _wrong_rent(problem, stated, entry)


def _wrong_rent(problem: Problem, stated: Prices, entry: FleetEntry) -> Iterator[Violation]:
    """The most that a GPU of a type can be cut into is worth the GPU and the rent of its type, or less without rent."""
    own = {one.mig_profile: one.usd_per_hour for one in stated.sizes if one.gpu == entry.gpu}
    cost, rent = usd_per_hour_of(problem).get(entry.gpu), stated.rents.get(entry.gpu)
    if stated.shared.get(entry.gpu, 0.0) < 0:
        yield Violation("plan", f"prices.shared has {stated.shared[entry.gpu]:g} for {entry.gpu}; expected 0 or more")
    if cost is None or rent is None:
        return
    whole = max(own.get(None, 0.0), stated.shared.get(entry.gpu, 0.0))
    cut = {name: usd for name, usd in own.items() if name is not None}
    if entry.cpu is not None:
        own_sizes = {cores_named(name): usd for name, usd in cut.items() if name in _cores_of(entry.cpu)}
        worth = most_worth_of_cores(entry.cpu, own_sizes)
    else:
        worth = max(whole, most_worth(entry.gpu, cut)) if load_catalogue()[entry.gpu].mig else whole
    least = max(0.0, worth - cost)
    if entry.available is None and worth > cost * (1 + RELATIVE):
        what = f"a {entry.gpu}, of which there is no limit, is worth {worth:.6f} at prices.sizes or shared"
        yield Violation("plan", f"{what}; it costs {cost:.6f}")
    elif abs(rent - (least if entry.available is not None else 0.0)) > RELATIVE * max(worth, cost):
        due = 0.0 if entry.available is None else least
        yield Violation("plan", f"prices.rents has {rent:.6f} for {entry.gpu}; the prices of its sizes give {due:.6f}")


def _is_offered(entry: FleetEntry | None, one: SizePrice) -> bool:
    if entry is not None and entry.cpu is not None:
        return one.mig_profile in _cores_of(entry.cpu)
    if entry is None or one.gpu not in load_catalogue():
        return False
    if one.mig_profile is None:
        return "exclusive" in entry.sharing
    mig = load_catalogue()[one.gpu].mig
    return "mig" in entry.sharing and mig is not None and mig.profile(one.mig_profile) is not None


@cache
def _cores_of(cpu: str) -> frozenset[str]:
    """Returns the names of all partitions that a CPU type may have."""
    facts = load_cpus()[cpu]
    within, nodes = range(1, facts.domain_cores + 1), range(facts.node_cores, facts.core_count + 1, facts.node_cores)
    domains = range(facts.domain_cores, facts.node_cores + 1, facts.domain_cores)
    return frozenset(cores_in_words(cores) for some in (within, domains, nodes) for cores in some)


def _size(gpu: str, mig_profile: str | None) -> str:
    return f"{gpu} {mig_profile}" if mig_profile else f"whole {gpu}"


def wrong_gpu_prices(problem: Problem, plan: Plan) -> Iterator[Violation]:
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
