"""
Fleets that may be shared by MPS, with partitions kept free: plans without any, and what is added to them.

It is for services that take turns (exact_turns.py) and for those that do not (exact.py); turns are told below.

What is kept free, and what for, is as check/free_shares.py has it. A plan is made that knows nothing of it, twice where
services may need more rate: once for the greater rate of as many as may need it at once, and once for that of all,
which keeps nothing free for it. The cheaper one is taken, with what it lacks. Where GPUs are counted and are too few
for what the first plan lacks, the second has a GPU less of each type.

- More rate. A service for whose greater rate its turns do not carry enough takes free shares, all of one size, and any
  other services that need more at once take theirs: of each size the sum of those that take most.
- Loss of a GPU. Beside the GPUs under MPS of a type another one is kept free, which takes all of any of them. Of GPUs
  that are cut or used whole one is kept free that is divided as those are that none is divided more than.

The bound is that of plans with turns. If a GPU is lost, the others are the GPUs of a plan, and so cost no less than
any; all together a GPU more. Where any services may need more at once, some that are named may: in free shares they
have it, and then the GPUs are those of a plan for these rates, whose bound holds. The two kinds of trouble do not come
together, so one GPU may be there for both, and these two bounds must not be added: where both are asked for it is that
of a loss at today's rates. Services with a limit on replicas are not among them, as what they take in trouble does not
count. On one type of GPU of which all are shared, a plan with
what a loss takes costs no more than the bound with a loss, if the one without is proven.

Without turns all of it holds with shares that serve one service each, and a service alone on a GPU that is kept free.
Partitions that a service takes count as its replicas then, as on MIG, so the second plan is for the greater rate of
those that have a limit on these, if there are some. A plan for greater rates is one of today's rates by the rule of
execution, where what a share carries does not depend on the rate, and where the batch sizes are free; else nothing is
planned for greater rates, and the bound is that of today's.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from time import monotonic

import numpy as np

from ...allocation.assembly import node_places, places_of, planned, without_plan
from ...exact.cost_lattice import cost_lattice
from ...exact.mig.spare_rules import SpareRules, spare_rules, worst_case
from ...exact.mps.fixed_shares import alone_rps
from ...exact.mps.fluid_shares import fluid_shares
from ...exact.proof import ended
from ...exact.turns.columns.spare_bound import bound_of_a_loss
from ...model.plan import Bound, Partition, Plan, PlannedGpu, Search, Status, Unserved
from ...model.problem import Sharing
from ...model.stop_reason import StopReason
from ...performance.fleet_types import FleetType
from ...performance.interference.prediction import Floats, Ints
from ...performance.resolve import ResolvedProblem
from ...performance.turns.turn_rule import TOLERANCE, turn_rule
from ...runtime.interruption import heard_as, offer
from .answers import bound_of
from .pressed_shares import slowing_models
from .slowed_shares import at_best, is_slowed_by_igniter
from .turning_partitions import measured_shares, points_of_share, shared_percent, standby_factor
from .turns_at_hand import every_batch, paid_by_each

Planning = Callable[[ResolvedProblem, float], Plan]
"""Plans a problem that keeps nothing free, in so many seconds."""

WITH_FREE = "with what is kept free (solver/planners/exact_plans/shares_kept_free.py)"

FOR_SOME = 0.6
"""Part of the time for the plan of the services that pay most more, whose bound is the answer's."""

NEVER_MIND = 1e-9
"""Part of a rate that may be missing by rounding."""


def plan_beside_free_shares(resolved: ResolvedProblem, planner: str, plan: Planning, *, time_limit_s: float) -> Plan:
    """Returns the cheapest plan that was found, with a bound of all plans."""
    from .of_rounds import is_beyond_all  # loads solvers, which what is at hand does without

    rules = spare_rules(resolved.problem.settings)
    if rules is None:
        return plan(resolved, time_limit_s)
    begun, every = monotonic(), _raised_in_place(resolved)
    raises = may_be_raised(resolved)
    some = _dearest(resolved, rules.services if raises and not rules.gpu_loss else 0)
    more = raises and rules.services > 0 and not np.isin(every, some).all()
    scarce = rules.gpu_loss and len(resolved.fleet) > 1 and any(one.available is not None for one in resolved.fleet)
    twice = more or scarce
    beside = _Beside(resolved, rules)

    def heard(so_far: Plan) -> Plan:
        stopped, of_first = so_far.search.stopped, _bound(resolved, rules, so_far.bound)
        return _cheapest(resolved, planner, of_first, [(beside.complete(so_far, some), so_far)], stopped)

    # What is named on the way keeps nothing free.
    with heard_as(heard):
        first = plan(_without_free(resolved, rules, some), time_limit_s * (FOR_SOME if twice else 1.0))
    bound = _bound(resolved, rules, first.bound)
    if first.status is Status.INFEASIBLE or is_beyond_all(resolved, bound.cost_per_hour or 0.0):
        return _none(resolved, planner, bound, first, StopReason.INFEASIBLE)
    found = [(beside.complete(first, some), first)]
    offer(lambda stopped: _cheapest(resolved, planner, bound, found, stopped))
    best = _cheapest(resolved, planner, bound, found, None)
    left_s = time_limit_s - (monotonic() - begun)
    if twice and best.status is not Status.OPTIMAL and left_s > 0 and (more or not best.gpus):
        every = every if more else some
        other = _without_free(resolved, rules, every)
        other = other if best.gpus else _with_fewer_gpus(other)

        def heard_too(so_far: Plan) -> Plan:
            both = [*found, (beside.complete(so_far, every), so_far)]
            return _cheapest(resolved, planner, bound, both, so_far.search.stopped)

        with heard_as(heard_too):
            second = plan(other, left_s)
        found.append((beside.complete(second, every), second))
        best = _cheapest(resolved, planner, bound, found, None)
    return best


def _with_fewer_gpus(resolved: ResolvedProblem) -> ResolvedProblem:
    """Returns the problem with a GPU less of each counted type, for which what is kept free has room."""
    fleet = (
        entry if entry.available is None else replace(entry, available=max(entry.available - 1, 0))
        for entry in resolved.fleet
    )
    return replace(resolved, fleet=tuple(fleet))


def may_be_raised(resolved: ResolvedProblem) -> bool:
    """Tells whether plans for greater rates are plans of today's; the module says why."""
    settings = resolved.problem.settings
    return settings.turns != "none" or (settings.mps_rules == "free" and not resolved.rule.depends_on_rate)


def _raised_in_place(resolved: ResolvedProblem) -> Ints:
    """Returns who is served at the greater rate in the second plan: those with a limit on replicas, or all."""
    every = np.arange(len(resolved.required_rps))
    limited = np.array([one.max_replicas is not None for one in resolved.problem.workloads], dtype=np.bool_)
    return every[limited] if resolved.problem.settings.turns == "none" and limited.any() else every


def _dearest(resolved: ResolvedProblem, number: int) -> Ints:
    """Returns services without a limit on replicas that pay most, and so pay most more; at most `number`."""
    if not number:
        return np.zeros(0, dtype=np.int64)
    free = np.array([one.max_replicas is None for one in resolved.problem.workloads])
    pays = paid_by_each(resolved) if resolved.problem.settings.turns != "none" else _paid_alone(resolved)
    pays = np.where(free, pays, -np.inf)
    order = np.argsort(-pays, kind="stable")[: min(number, int(free.sum()))]
    return np.sort(order)


def _paid_alone(resolved: ResolvedProblem) -> Floats:
    """Returns what each service pays at least alone on GPUs under MPS, USD per hour, shape (service,); 0: not there."""
    usd = np.array([resolved.fleet_by_name[gpu].price_per_hour for gpu in resolved.mps])
    gpus = fluid_shares(resolved).gpus
    return np.asarray(np.where(np.isfinite(gpus), gpus * usd, 0.0).max(axis=1))


def _without_free(resolved: ResolvedProblem, rules: SpareRules, raised: Ints) -> ResolvedProblem:
    """Returns the problem that keeps nothing free, some services of which need what they may need."""
    required = resolved.required_rps.copy()
    required[raised] *= 1 + rules.rate
    nothing = {"spare_services": 0, "spare_rate": 0.0, "spare_gpu_loss": False}
    settings = resolved.problem.settings.model_copy(update=nothing)
    workloads = list(resolved.problem.workloads)
    for w in raised.tolist():
        workloads[w] = workloads[w].model_copy(update={"rate_rps": workloads[w].rate_rps * (1 + rules.rate)})
    problem = resolved.problem.model_copy(update={"settings": settings, "workloads": tuple(workloads)})
    fleet = resolved.fleet
    if rules.gpu_loss and len(fleet) == 1 and (fleet[0].available or 0) > 1:
        fleet = (replace(fleet[0], available=(fleet[0].available or 0) - 1),)
    return replace(resolved, problem=problem, fleet=fleet).at_rates(required)


def _bound(resolved: ResolvedProblem, rules: SpareRules, without: Bound) -> Bound:
    if without.cost_per_hour is None:
        return without
    cost = without.cost_per_hour
    if rules.gpu_loss:
        cost = bound_of_a_loss(cost, (entry.price_per_hour for entry in resolved.fleet))
    return bound_of(resolved, cost_lattice(resolved).next_cost(cost), f"{without.method}, {WITH_FREE}")


def _cheapest(
    resolved: ResolvedProblem,
    planner: str,
    bound: Bound,
    found: Sequence[tuple[tuple[PlannedGpu, ...] | None, Plan]],
    stopped: StopReason | None,
) -> Plan:
    """Returns the cheapest of what was found; `stopped`: why the search ended, None: by itself."""
    usd = {entry.gpu.name: entry.price_per_hour for entry in resolved.fleet}
    complete = [(gpus, plan) for gpus, plan in found if gpus is not None]
    if not complete:
        return _none(resolved, planner, bound, found[-1][1], stopped or StopReason.GAP_LEFT)
    gpus, plan = min(complete, key=lambda one: sum(usd[gpu.gpu] for gpu in one[0]))
    cost, limited = sum(usd[gpu.gpu] for gpu in gpus), plan.search.stopped is StopReason.TIME_LIMIT
    end: StopReason = ended(cost, bound.cost_per_hour or 0.0, gap=resolved.gap, limited=limited)
    if stopped is not None and end is not StopReason.PROVED:
        end = stopped
    search = plan.search.model_copy(update={"stopped": end})
    return planned(resolved, gpus, planner=planner, bound=bound, search=search)


def completed_at_hand(resolved: ResolvedProblem, planner: str, plans: Iterator[Plan], bound: Bound) -> Iterator[Plan]:
    """Yields plans that keep nothing free with what they lack, and the bound of plans that keep nothing free."""
    rules = spare_rules(resolved.problem.settings)
    assert rules is not None  # such problems come here
    beside, nobody = _Beside(resolved, rules), np.zeros(0, dtype=np.int64)
    for plan in plans:
        gpus = beside.complete(plan, nobody)
        if gpus is not None:
            yield planned(resolved, gpus, planner=planner, bound=bound, search=plan.search)


def without_what_is_free(resolved: ResolvedProblem) -> ResolvedProblem:
    """Returns the problem that keeps nothing free."""
    rules = spare_rules(resolved.problem.settings)
    return resolved if rules is None else _without_free(resolved, rules, np.zeros(0, dtype=np.int64))


def _none(resolved: ResolvedProblem, planner: str, bound: Bound, plan: Plan, stopped: StopReason) -> Plan:
    reason = "no plan was found with the GPUs that there are and what is to be kept free; this proves nothing"
    if stopped is StopReason.INFEASIBLE:
        from .of_rounds import is_beyond_all, too_few

        beyond = is_beyond_all(resolved, bound.cost_per_hour or 0.0)
        reason = too_few(bound) if beyond else next((one.reason for one in plan.unserved), reason)
    if plan.search.stopped is StopReason.TIME_LIMIT and stopped is StopReason.GAP_LEFT:
        stopped = StopReason.TIME_LIMIT
    search = Search(stopped=stopped, time_limit_s=plan.search.time_limit_s, solver=plan.search.solver)
    unserved = [Unserved(workload=one.name, reason=reason) for one in resolved.problem.workloads]
    return without_plan(resolved, unserved, planner=planner, search=search, bound=bound)


@dataclass(frozen=True, eq=False)
class _Kind:
    """A share that services may take for themselves."""

    entry: FleetType
    percent: float
    rps: Floats
    """Shape (service,): what each carries there; 0: it cannot be served."""
    has_gpu: bool
    """Whether it has a GPU for itself, as neighbours would slow it."""
    size: int | None = None
    """Index of the partition that it is instead, all of a GPU; None: it is a share."""

    @property
    def usd(self) -> float:
        """What it is worth of its GPU."""
        return self.entry.price_per_hour * (1.0 if self.has_gpu else self.percent / 100)


@dataclass(frozen=True, eq=False)
class _Beside:
    """Adds what is kept free to plans of a problem that keeps nothing free."""

    resolved: ResolvedProblem
    rules: SpareRules

    def complete(self, plan: Plan, raised: Ints) -> tuple[PlannedGpu, ...] | None:
        """Returns the GPUs of a plan and what is kept free; None: there is no plan, or GPUs or shares are too few."""
        if not plan.gpus or plan.status not in (Status.OPTIMAL, Status.FEASIBLE):
            return None
        names = {self.resolved.problem.workloads[w].name for w in raised.tolist()}
        gpus = [self._at_rates(gpu, names) for gpu in plan.gpus]
        if self.rules.services:
            shares = self._taken(gpus)
            if shares is None:
                return None
            gpus = self._with_shares(gpus, shares)
        if self.rules.gpu_loss:
            gpus += self._for_a_loss(gpus)
        used = Counter(gpu.gpu for gpu in gpus)
        there = {entry.gpu.name: entry.available for entry in self.resolved.fleet}
        if any(there[gpu] is not None and number > (there[gpu] or 0) for gpu, number in used.items()):
            return None
        return tuple(self._numbered(gpus))

    def _at_rates(self, gpu: PlannedGpu, raised: set[str]) -> PlannedGpu:
        """Returns a GPU whose services have the rates of today."""
        parts = []
        for one in gpu.partitions:
            serves = tuple(
                own.model_copy(update={"rate_rps": own.rate_rps / (1 + self.rules.rate)})
                if own.workload in raised
                else own
                for own in one.serves
            )
            parts.append(one.model_copy(update={"serves": serves}))
        return gpu.model_copy(update={"partitions": tuple(parts)})

    def _taken(self, gpus: Sequence[PlannedGpu]) -> list[_Kind] | None:
        """Returns the shares that any services take together which need more at once; None: some has none."""
        carried: defaultdict[str, float] = defaultdict(float)
        for gpu in gpus:
            for one in gpu.partitions:
                for served in one.serves:
                    carried[served.workload] += served.carries_rps
        own = np.array([carried[one.name] for one in self.resolved.problem.workloads], dtype=np.float64)
        missing = self.resolved.required_rps * (1 + self.rules.rate) * (1 - NEVER_MIND) - own
        short = np.flatnonzero(missing > 0)
        if not short.size:
            return []
        kinds = list(self._kinds())
        if not kinds:
            return None
        with np.errstate(divide="ignore"):
            many = np.ceil(missing[short, None] / np.stack([one.rps[short] for one in kinds], axis=1))
        usd = np.array([one.usd for one in kinds])
        many[many > self._most_more(gpus)[short, None]] = np.inf
        if not np.isfinite(many).any(axis=1).all():
            return None
        choices = [np.argmin(np.where(np.isfinite(many), many * usd, np.inf), axis=1)]
        choices += [np.where(np.isfinite(many[:, k]), k, choices[0]) for k in range(len(kinds))]
        tried = []
        for chosen in choices:
            extra = np.zeros(many.shape, dtype=np.int64)
            extra[np.arange(short.size), chosen] = many[np.arange(short.size), chosen].astype(np.int64)
            tried.append(worst_case(extra, self.rules.services))
        counts = min(tried, key=lambda one: float(one @ usd))
        return [one for one, number in zip(kinds, counts.tolist(), strict=True) for _ in range(number)]

    def _most_more(self, gpus: Sequence[PlannedGpu]) -> Floats:
        """Returns how many partitions more each service may take, shape (service,)."""
        workloads = self.resolved.problem.workloads
        most = np.array([np.inf if one.max_replicas is None else one.max_replicas for one in workloads])
        if self.resolved.problem.settings.turns != "none":
            return np.full(most.shape, np.inf)
        replicas = Counter(own.workload for gpu in gpus for one in gpu.partitions for own in one.serves)
        return np.asarray(most - np.array([replicas[one.name] for one in workloads]))

    def _kinds(self) -> Iterator[_Kind]:
        if self.resolved.problem.settings.turns == "none":
            yield from self._whole_gpus()
            return
        rule = turn_rule(self.resolved.problem)
        for entry in (one for one in self.resolved.fleet if "mps" in one.sharing):
            if is_slowed_by_igniter(self.resolved, entry):
                mps = self.resolved.mps[entry.gpu.name]
                best = at_best(self.resolved, mps, 1)
                rps = best.alone_rps[-1]
                if rule.quantile is not None:
                    rps = rule.alone_rps(best.batch, best.latency_ms[-1]).max(axis=1, initial=0.0)
                yield _Kind(entry, mps.percent_of(mps.capacity_units), self._in_memory(entry, 100.0, rps), True)
                continue
            shares = measured_shares(self.resolved, entry)
            slowed = bool(slowing_models(self.resolved))
            for percent in shares[-1:] if slowed else shares:
                points = points_of_share(self.resolved, entry, percent)
                one = every_batch(entry, points, np.zeros(len(self.resolved.required_rps)))
                rps = rule.alone_rps(one.batch, one.latency_ms).max(axis=1, initial=0.0)
                yield _Kind(entry, percent, self._in_memory(entry, percent, rps), slowed)

    def _whole_gpus(self) -> Iterator[_Kind]:
        """Yields the GPUs of each type, for one service, where nobody takes turns."""
        resolved = self.resolved
        for entry in resolved.fleet:
            if (mps := resolved.mps.get(entry.gpu.name)) is not None:
                percent = mps.percent_of(mps.capacity_units)
                yield _Kind(entry, percent, self._in_memory(entry, percent, alone_rps(resolved, mps)), True)
                continue
            own = [k for k, size in enumerate(resolved.sizes) if size.gpu == entry.gpu.name]
            if own:
                k = max(own, key=lambda k: float(resolved.capacity_rps[:, k].sum()))
                yield _Kind(entry, 100.0, resolved.capacity_rps[:, k], True, k)

    def _free_gpu(self, kind: _Kind) -> PlannedGpu:
        """Returns a GPU of which a kind is kept free."""
        if kind.size is None:
            free = Partition(mig_profile=None, start=None, sm_percent=kind.percent, duty_cycle_ms=None, serves=())
            return _new(kind.entry.gpu.name, "mps", (free,))
        size = self.resolved.sizes[kind.size]
        _, (start,) = places_of(size.gpu, [kind.size], [one.kind or "" for one in self.resolved.sizes])
        free = Partition(mig_profile=size.kind, start=start, sm_percent=None, duty_cycle_ms=None, serves=())
        return _new(size.gpu, size.sharing, (free,))

    def _in_memory(self, entry: FleetType, percent: float, rps: Floats) -> Floats:
        """Returns what services carry that have memory enough on a share."""
        part = percent / shared_percent(self.resolved) if percent < 100 else 1.0
        there = entry.facts.memory_mib * min(part, 1.0) / standby_factor(self.resolved)
        known = [self._memory_mib(w, entry.gpu.name) for w in range(len(rps))]
        return np.where(np.array(known) <= there * (1 + TOLERANCE), rps, 0.0)

    def _memory_mib(self, w: int, gpu: str) -> float:
        workload = self.resolved.problem.workloads[w]
        profile = self.resolved.profiles.get((workload.model, gpu))
        known = profile.interference if profile is not None else None
        return workload.memory_mib or (known.memory_mib if known else None) or 0.0

    def _with_shares(self, gpus: Sequence[PlannedGpu], shares: Sequence[_Kind]) -> list[PlannedGpu]:
        """Returns the GPUs with free shares on them, largest first, each where there is room, or on a GPU more."""
        found = list(gpus)
        for share in sorted(shares, key=lambda one: -one.percent):
            free = Partition(mig_profile=None, start=None, sm_percent=share.percent, duty_cycle_ms=None, serves=())
            for i, gpu in enumerate(found):
                if not share.has_gpu and self._has_room(gpu, share):
                    found[i] = gpu.model_copy(update={"partitions": (*gpu.partitions, free)})
                    break
            else:
                found.append(self._free_gpu(share))
        return found

    def _has_room(self, gpu: PlannedGpu, share: _Kind) -> bool:
        if gpu.sharing != "mps" or gpu.gpu != share.entry.gpu.name:
            return False
        all_of_it = shared_percent(self.resolved)
        taken = sum(one.sm_percent or 0.0 for one in gpu.partitions) + share.percent
        free = sum(one.sm_percent or 0.0 for one in gpu.partitions if not one.serves) + share.percent
        clients = share.entry.facts.mps_client_limit(None) // standby_factor(self.resolved)
        needed = sum(own.memory_mib or 0.0 for one in gpu.partitions for own in one.serves)
        there = share.entry.facts.memory_mib / standby_factor(self.resolved) * (1 - free / all_of_it)
        return taken <= all_of_it and len(gpu.partitions) < clients and needed <= max(there, 0.0)

    def _for_a_loss(self, gpus: Sequence[PlannedGpu]) -> list[PlannedGpu]:
        """Returns the GPUs that are kept free as wholes for what runs on any one."""
        found = []
        shared = [gpu for gpu in gpus if gpu.sharing == "mps"]
        for name in dict.fromkeys(gpu.gpu for gpu in shared):
            percents = [_percents(gpu) for gpu in shared if gpu.gpu == name]
            most = max(used for used, _ in percents)
            if most and not any(not used and free >= most for used, free in percents):
                free = Partition(
                    mig_profile=None, start=None, sm_percent=self._whole(name), duty_cycle_ms=None, serves=()
                )
                found.append(_new(name, "mps", (free,)))
        cut = [gpu for gpu in gpus if gpu.sharing != "mps"]
        sizes = {id(gpu): Counter((gpu.gpu, one.mig_profile) for one in gpu.partitions if one.serves) for gpu in cut}
        kept: list[PlannedGpu] = []
        for gpu in sorted(cut, key=lambda one: -sizes[id(one)].total()):
            if not any(sizes[id(gpu)] <= sizes[id(other)] for other in kept):
                kept.append(gpu)
        for gpu in kept:
            free_parts = tuple(
                Partition(mig_profile=one.mig_profile, start=one.start, sm_percent=None, duty_cycle_ms=None, serves=())
                for one in gpu.partitions
            )
            found.append(_new(gpu.gpu, gpu.sharing, free_parts))
        return found

    def _whole(self, gpu: str) -> float:
        """Returns the greatest share that a GPU may give away."""
        if is_slowed_by_igniter(self.resolved, self.resolved.fleet_by_name[gpu]):
            mps = self.resolved.mps[gpu]
            return mps.percent_of(mps.capacity_units)
        return shared_percent(self.resolved)

    def _numbered(self, gpus: Sequence[PlannedGpu]) -> Iterator[PlannedGpu]:
        """Yields GPUs by type in the order of the fleet, those kept free last, each with its number and node."""
        for entry in self.resolved.problem.fleet:
            own = [gpu for gpu in gpus if gpu.gpu == entry.gpu]
            for number, (gpu, (node, index)) in enumerate(zip(own, islice(node_places(entry), len(own)), strict=True)):
                yield gpu.model_copy(update={"id": f"{entry.gpu}/{number}", "node": node, "index": index})


def _percents(gpu: PlannedGpu) -> tuple[float, float]:
    """Returns which shares of a GPU serve, and which are free, in percent."""
    used = sum(one.sm_percent or 0.0 for one in gpu.partitions if one.serves)
    return used, sum(one.sm_percent or 0.0 for one in gpu.partitions) - used


def _new(gpu: str, sharing: Sharing, partitions: tuple[Partition, ...]) -> PlannedGpu:
    """Returns a GPU that is numbered later."""
    return PlannedGpu(id=f"{gpu}/0", gpu=gpu, node=None, index=None, sharing=sharing, partitions=partitions)
