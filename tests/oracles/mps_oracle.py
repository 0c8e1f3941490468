"""
What can be on GPUs under MPS, by trying everything: an oracle for small problems that shares no code with the solver.

Every set of residents is tried with every batch size, and every share on the allocation grid, by iGniter's equations
one number at a time (igniter_scalar.py). Of the model two things are taken for granted, which its equations show: a
further resident makes none of the others faster, so sets that are too slow are not grown; and alone nobody is slower
than beside others. Nothing is assumed of how a latency moves with the resident's own share.

Rates are judged twice, because the solver works with tolerances: STRICT asks a little more than the problem, so what
it finds can be served; LOOSE a little less, so what it does not find cannot.
"""

import math
from collections import Counter
from dataclasses import dataclass, field
from itertools import product

from oracles import igniter_scalar
from sliceplan.solver.model.catalogue import load_catalogue

STRICT, LOOSE = -1e-7, 1e-5
"""Relative: how far a figure may pass its limit."""

MOST_TRIED = 100_000
"""Sets of residents, shares included, after which a problem counts as too large for the oracle."""

MOST_GPUS = 200
"""Of a plan that it looks at."""


LOOKED_AT = 20
"""Residents that are passed over, for want of room, in the time that one set takes."""


class TooLargeError(Exception):
    """The problem is too large to try everything."""


@dataclass(frozen=True)
class Task:
    """Something that one resident is to carry all of: under igniter's rules, or where replicas may not be split."""

    workload: int
    batch: int | None
    """None: any that the workload may use."""
    required_rps: float
    alone: bool = False


@dataclass(frozen=True)
class Resident:
    """One choice of batch size and share for a task, with what the equations make of it alone."""

    task: int
    batch: int
    units: int
    active_ms: float
    power_w: float
    cache: float
    scheduling_ms: float
    kernels: int
    sensitivity: float
    load_ms: float
    feedback_ms: float
    limit_ms: float
    least_rps: float

    @classmethod
    def of(cls, known, task, batch, units, percent, limits):
        c, gpu = known.model, known.gpu
        k1, k2, k3, k4, k5 = c.active
        active = (k1 * batch * batch + k2 * batch + k3) / (percent + k4) + k5
        ability = 1000 * batch / active
        return cls(
            task,
            batch,
            units,
            active,
            max(0.0, c.power_slope * ability + c.power_offset_w),
            max(0.0, c.cache_slope * ability + c.cache_offset),
            c.scheduling_ms,
            c.kernels,
            c.cache_sensitivity,
            c.input_bytes * batch / gpu.pcie_bytes_per_ms,
            c.output_bytes * batch / gpu.pcie_bytes_per_ms,
            *limits,
        )


@dataclass(frozen=True)
class Content:
    """What one GPU carries."""

    gpu: str
    carried: tuple[float, ...]
    """Requests/s of each workload."""
    replicas: tuple[int, ...]


@dataclass
class Oracle:
    """A problem and all that its GPUs could carry; `over` is STRICT or LOOSE."""

    problem: object
    profiles: object
    over: float
    tried: int = 0
    by_key: dict = field(default_factory=dict)

    def __post_init__(self):
        self.by_key = {(profile.model, profile.gpu): profile for profile in self.profiles}
        settings = self.problem.settings
        self.required = [w.rate_rps * (1 + settings.headroom) for w in self.problem.workloads]
        self.limit = [w.slo_ms * settings.slo_fraction * (1 + self.over) for w in self.problem.workloads]
        self.standby = 2 if settings.shadow_percent else 1

    def price(self, gpu):
        return next(e.price_per_hour for e in self.problem.fleet if e.gpu == gpu)

    def units(self, gpu):
        """Returns how many units of a share a GPU has to give, and the percent of one."""
        sms = load_catalogue()[gpu].sm_count.value
        number = int(sms // 2)
        free = 100 - self.problem.settings.shadow_percent
        return math.floor(free * number / 100 + 1e-9), number

    def least(self, gpu):
        """Returns the units of the smallest share: 2 SMs each, as many as the hardware gives any client."""
        given = load_catalogue()[gpu].mps_least_sms
        units = 1
        while given is not None and 2 * units < given.value:
            units += 1
        return units

    def interference(self, w, gpu):
        workload = self.problem.workloads[w]
        if workload.gpus is not None and gpu not in workload.gpus:
            return None
        profile = self.by_key.get((workload.model, gpu))
        return profile.interference if profile else None

    def batches(self, w, gpu):
        known = self.interference(w, gpu)
        if known is None:
            return []
        own = self.problem.workloads[w].batch_sizes
        measured = known.measured
        if own is not None:
            return sorted(b for b in set(own) if measured.min_batch <= b <= measured.max_batch)
        return list(range(measured.min_batch, measured.max_batch + 1))

    def memory_mib(self, w, gpu):
        workload, known = self.problem.workloads[w], self.interference(w, gpu)
        return self.standby * (workload.memory_mib or (known.memory_mib if known else None) or 0.0)

    def figures(self, gpu, residents):
        """Returns latency and throughput of each; residents are (workload, batch, units)."""
        number = self.units(gpu)[1]
        first = self.interference(residents[0][0], gpu).gpu
        rows = [(self.interference(w, gpu).model, b, 100 * u / number) for w, b, u in residents]
        return igniter_scalar.predict(first, rows)

    def served(self, gpu, tasks, most_each=None):
        """
        Yields every way in which tasks fit a GPU together: (indices of the tasks, requests/s of each).

        `most_each`: how often each task may be there; None: once.
        """
        units, number = self.units(gpu)
        facts = load_catalogue()[gpu]
        clients = int(facts.mps_max_clients.value) // self.standby
        memory_mib = facts.memory_mib * (1 + max(self.over, 0))
        choices = []
        for t, task in enumerate(tasks):
            known = self.interference(task.workload, gpu)
            if known is None or self.memory_mib(task.workload, gpu) > memory_mib:
                continue
            allowed = self.batches(task.workload, gpu) if task.batch is None else [task.batch]
            for batch, own in product(allowed, range(self.least(gpu), units + 1)):
                limits = self.limit[task.workload], task.required_rps * (1 - self.over)
                choice = Resident.of(known, t, batch, own, 100 * own / number, limits)
                if self.carried([choice], known.gpu) is not None:
                    choices.append(choice)
        if not choices:
            return
        coefficients = self.interference(tasks[choices[0].task].workload, gpu).gpu
        memory = [self.memory_mib(task.workload, gpu) for task in tasks]

        alone = [task.alone for task in tasks]
        most = list(most_each or [1] * len(tasks))

        def grown(chosen, first, left, mib):
            """`most`: how often each task may still be added."""
            self.tried += (len(choices) - first) // LOOKED_AT
            if len(chosen) == clients:
                return
            nobody_else = any(alone[one.task] for one in chosen)
            for i in range(first, len(choices)):
                one = choices[i]
                t = one.task
                if one.units > left or most[t] <= 0 or mib + memory[t] > memory_mib:
                    continue
                if chosen and (alone[t] or nobody_else):
                    continue
                together = [*chosen, one]
                carried = self.carried(together, coefficients)
                if carried is not None:
                    yield tuple(other.task for other in together), carried
                    most[t] -= 1
                    yield from grown(together, i, left - one.units, mib + memory[t])
                    most[t] += 1

        yield from grown([], 0, units, 0.0)

    def carried(self, residents, gpu):
        """Returns what each resident carries beside the others, by equations 1 to 11; None: somebody is too slow."""
        self.tried += 1
        if self.tried > MOST_TRIED:
            raise TooLargeError
        n = len(residents)
        delay = gpu.scheduling_ms_per_resident * n + gpu.scheduling_ms_offset if n > 1 else 0.0
        demand, cache = gpu.idle_power_w, 0.0
        for one in residents:
            demand += one.power_w
            cache += one.cache
        slow = 1.0
        if demand > gpu.max_power_w:
            frequency = gpu.max_frequency_mhz + gpu.frequency_mhz_per_w * (demand - gpu.max_power_w)
            slow = gpu.max_frequency_mhz / max(frequency, min(1.0, gpu.max_frequency_mhz))
        found = []
        for one in residents:
            active = one.active_ms * (1 + one.sensitivity * (cache - one.cache))
            gpu_ms = (one.scheduling_ms + delay * one.kernels + active) * slow
            if one.load_ms + gpu_ms + one.feedback_ms > one.limit_ms:
                return None
            rps = 1000 * one.batch / (gpu_ms + one.feedback_ms)
            if rps < one.least_rps:
                return None
            found.append(rps)
        return found

    def alone_rps(self, w, gpu):
        """Yields what a workload carries on a GPU that it has whole, for each operating point within its latency."""
        workload = self.problem.workloads[w]
        if workload.gpus is not None and gpu not in workload.gpus:
            return
        profile = self.by_key.get((workload.model, gpu))
        if profile is None:
            return
        memory = load_catalogue()[gpu].memory_mib * (1 + max(self.over, 0))
        measured = [p for p in profile.points if p.sm_percent == 100]
        if not measured and profile.interference is not None:
            known = profile.interference
            if (workload.memory_mib or known.memory_mib or 0.0) > memory:
                return
            for batch in self.batches(w, gpu):
                (one,) = igniter_scalar.predict(known.gpu, [(known.model, batch, 100.0)])
                if one.latency_ms <= self.limit[w]:
                    yield one.throughput_rps
        for point in measured:
            needed = point.memory_mib if workload.memory_mib is None else workload.memory_mib * point.processes
            if (
                point.processes <= min(self.problem.settings.max_processes, load_catalogue()[gpu].mps_max_clients.value)
                and (workload.batch_sizes is None or point.batch in workload.batch_sizes)
                and (needed or 0.0) <= memory
                and point.latency_ms <= self.limit[w]
            ):
                yield point.throughput_rps

    def contents(self):
        """Returns what one GPU can carry, for all types; of those with the same replicas only the best."""
        workloads = self.problem.workloads
        count = len(workloads)
        found = {}

        def add(gpu, carried, replicas):
            found.setdefault((gpu, tuple(replicas)), []).append(tuple(carried))

        for entry in self.problem.fleet:
            if "exclusive" in entry.sharing:
                for w in range(count):
                    for rps in self.alone_rps(w, entry.gpu):
                        carried, replicas = [0.0] * count, [0] * count
                        carried[w], replicas[w] = rps, 1
                        add(entry.gpu, carried, replicas)
            if "mps" in entry.sharing:
                # A resident that may have no other beside it for the rate carries all of it.
                tasks = [
                    Task(w, None, self.required[w] if workloads[w].max_replicas == 1 else 0.0) for w in range(count)
                ]
                most_each = [w.max_replicas or 99 for w in workloads]
                for residents, rps in self.served(entry.gpu, tasks, most_each):
                    carried, replicas = [0.0] * count, [0] * count
                    for w, one in zip(residents, rps, strict=True):
                        carried[w] += one
                        replicas[w] += 1
                    add(entry.gpu, carried, replicas)
        return [
            Content(gpu, carried, replicas)
            for (gpu, replicas), options in found.items()
            for carried in best_carried(options, self.required)
        ]

    def cheapest(self, below):
        """Returns the least cost of a plan that costs less than `below`; None: there is none."""
        contents = self.contents()
        workloads = self.problem.workloads
        available = {e.gpu: math.inf if e.available is None else e.available for e in self.problem.fleet}
        best = [below, None]
        least = [w.min_replicas for w in workloads]
        most = [w.max_replicas or math.inf for w in workloads]
        prices = {gpu: self.price(gpu) for gpu in available}
        contents.sort(key=lambda content: (prices[content.gpu], [-c for c in content.carried]))

        def search(left, replicas, used, cost):
            self.tried += 1
            if self.tried > MOST_TRIED or sum(used.values()) > MOST_GPUS:
                raise TooLargeError
            open_ = [
                w
                for w in range(len(workloads))
                if left[w] > self.required[w] * self.over_rate or replicas[w] < least[w]
            ]
            if not open_:
                best[0], best[1] = cost, cost
                return
            w = open_[0]
            for content in contents:
                total = cost + prices[content.gpu]
                if (
                    not content.replicas[w]
                    or total >= best[0] * (1 - 1e-9)
                    or used[content.gpu] >= available[content.gpu]
                ):
                    continue
                more = [r + c for r, c in zip(replicas, content.replicas, strict=True)]
                if any(r > m for r, m in zip(more, most, strict=True)):
                    continue
                rest = [a - b for a, b in zip(left, content.carried, strict=True)]
                search(rest, more, used | {content.gpu: used[content.gpu] + 1}, total)

        search(list(self.required), [0] * len(workloads), dict.fromkeys(available, 0), 0.0)
        return best[1]

    @property
    def over_rate(self):
        """How much of a rate may be missing."""
        return self.over if self.over > 0 else 0.0

    # iGniter's rules: one recipe a workload and GPU type.

    def recipe(self, w, gpu):
        """Returns what serves a workload on GPUs of a type by iGniter's rules; None: they serve it nowhere."""
        known = self.interference(w, gpu)
        sizes = self.batches(w, gpu)
        units, number = self.units(gpu)
        least = self.least(gpu)
        if known is None or not sizes or units < least or self.memory_mib(w, gpu) > load_catalogue()[gpu].memory_mib:
            return None
        if self.enough(gpu, whole := self.resident(w, gpu, self.required[w])):
            return [whole]
        at = {
            batch: [
                igniter_scalar.predict(known.gpu, [(known.model, batch, 100 * own / number)])[0]
                for own in range(least, units + 1)
            ]
            for batch in sizes
        }
        # At all of the GPU, as published; where no batch is fast enough there, each at the share that is fastest.
        fast = [(batch, rows[-1]) for batch, rows in at.items() if rows[-1].latency_ms <= self.limit[w]]
        if not fast:
            best = [(batch, min(rows, key=lambda row: row.latency_ms)) for batch, rows in at.items()]
            fast = [(batch, row) for batch, row in best if row.latency_ms <= self.limit[w]]
        if not fast:
            return None
        batch, rps = fast[-1][0], fast[-1][1].throughput_rps
        for dedicated in range(1, math.ceil(self.required[w] / (0.9 * rps)) + 1):
            rest = self.resident(w, gpu, max(self.required[w] - dedicated * 0.9 * rps, 1e-3))
            if self.enough(gpu, rest):
                return [Task(w, batch, 0.9 * rps, alone=True)] * dedicated + [rest]
        return None

    def resident(self, w, gpu, required):
        """Returns one resident for a rate, with the batch size of eq. 17."""
        known, sizes = self.interference(w, gpu), self.batches(w, gpu)
        limit = self.problem.workloads[w].slo_ms * self.problem.settings.slo_fraction
        load = known.model.input_bytes / known.gpu.pcie_bytes_per_ms
        wanted = math.ceil(limit * required / 1000 / (1 + required / 1000 * load) - 1e-9)
        return Task(w, next((b for b in sizes if b >= wanted), sizes[-1]), required)

    def enough(self, gpu, task):
        return next(self.served(gpu, [task]), None) is not None

    def cheapest_by_igniters_rules(self, below):
        """As `cheapest`, under the rules `igniter`, for fleets under MPS alone."""
        workloads = self.problem.workloads
        options = []
        for w, workload in enumerate(workloads):
            own = []
            for entry in self.problem.fleet:
                recipe = self.recipe(w, entry.gpu) if "mps" in entry.sharing else None
                if recipe and workload.min_replicas <= len(recipe) <= (workload.max_replicas or len(recipe)):
                    own.append((entry.gpu, recipe))
            options.append(own)
        best = None
        for chosen in product(*options):
            cost = 0.0
            for entry in self.problem.fleet:
                tasks = [task for gpu, recipe in chosen if gpu == entry.gpu for task in recipe]
                gpus = self.fewest(entry.gpu, tasks)
                if entry.available is not None and gpus > entry.available:
                    gpus = math.inf
                cost += gpus * self.price(entry.gpu)
            if cost < (below if best is None else best) * (1 - 1e-9):
                best = cost
        return best

    def fewest(self, gpu, tasks):
        """Returns the least number of GPUs of a type that serve tasks, by dynamic programming over their subsets."""
        lonely = [task for task in tasks if task.alone]
        rest = [task for task in tasks if not task.alone]
        if len(rest) > 8:
            raise TooLargeError
        sets = {sum(1 << t for t in residents) for residents, _ in self.served(gpu, rest)}
        fewest = [0] + [math.inf] * ((1 << len(rest)) - 1)
        for left in range(1, 1 << len(rest)):
            first = left & -left
            fewest[left] = min((1 + fewest[left & ~s] for s in sets if s & first and s & left == s), default=math.inf)
        return len(lonely) + fewest[-1]


def best_carried(options, required):
    """Returns the options of which none carries at least as much of everything, as far as it is asked for."""
    clipped = {tuple(min(c, r) for c, r in zip(option, required, strict=True)): option for option in options}
    kept = []
    for one in sorted(clipped, reverse=True):
        if not any(all(a >= b for a, b in zip(other, one, strict=True)) for other in kept):
            kept.append(one)
    return [clipped[one] for one in kept]


def too_small(problem, profiles, plan):
    """Yields the shares of a plan, whether it holds or not, that are smaller than their hardware gives."""
    oracle = Oracle(problem, profiles, LOOSE)
    for gpu in plan.gpus:
        whole = oracle.units(gpu.gpu)[1] if gpu.sharing == "mps" else 0
        for partition in gpu.partitions if gpu.sharing == "mps" else ():
            if partition.sm_percent * whole / 100 < oracle.least(gpu.gpu) - 1e-6:
                yield f"a share of {partition.sm_percent} % on {gpu.id}"


def wrong(problem, profiles, plan):
    """Yields what is wrong with the GPUs under MPS and with the rates of a plan that is said to hold."""
    oracle = Oracle(problem, profiles, 1e-5)
    number = {workload.name: w for w, workload in enumerate(problem.workloads)}
    rates, replicas = [0.0] * len(number), [0] * len(number)
    used = Counter(gpu.gpu for gpu in plan.gpus)
    for entry in problem.fleet:
        if entry.available is not None and used[entry.gpu] > entry.available:
            yield f"{used[entry.gpu]} x {entry.gpu}"
    cost = sum(oracle.price(gpu) * times for gpu, times in used.items())
    if abs(cost - plan.cost_per_hour) > 1e-6 * cost:
        yield f"costs {cost}, and says {plan.cost_per_hour}"
    for gpu in plan.gpus:
        for partition in gpu.partitions:
            for served in partition.serves:
                w = number[served.workload]
                rates[w] += served.rate_rps
                replicas[w] += 1
                if served.rate_rps > served.capacity_rps * (1 + 1e-5):
                    yield f"{served.workload} takes more than its capacity"
        if gpu.sharing == "mps":
            yield from _wrong_shares(oracle, number, gpu)
    for w, workload in enumerate(problem.workloads):
        if abs(rates[w] - oracle.required[w]) > 1e-5 * oracle.required[w]:
            yield f"{workload.name} gets {rates[w]} of {oracle.required[w]}"
        if not workload.min_replicas <= replicas[w] <= (workload.max_replicas or replicas[w]):
            yield f"{workload.name} has {replicas[w]} replicas"


def carries_recipes(problem, profiles, plan):
    """
    Tells whether a plan gives every service what its recipe does: each GPU of its own and the rest carry their parts.

    A service with a single partition is taken to, and so is one that is not under MPS alone.
    """
    oracle = Oracle(problem, profiles, 1e-5)
    number = {workload.name: w for w, workload in enumerate(problem.workloads)}
    carried, elsewhere = {}, set()
    for gpu in plan.gpus:
        served = [one for partition in gpu.partitions for one in partition.serves]
        if gpu.sharing != "mps":
            elsewhere |= {number[one.workload] for one in served}
            continue
        whole = oracle.units(gpu.gpu)[1]
        residents = [
            (number[one.workload], one.batch, round(partition.sm_percent * whole / 100))
            for partition in gpu.partitions
            for one in partition.serves
        ]
        for (w, _, _), figure in zip(residents, oracle.figures(gpu.gpu, residents), strict=True):
            carried.setdefault((w, gpu.gpu), []).append(figure.throughput_rps)
    for (w, gpu), rates in carried.items():
        if len(rates) == 1 or w in elsewhere:
            continue
        parts = [task.required_rps for task in oracle.recipe(w, gpu) or ()]
        pairs = zip(sorted(rates), sorted(parts), strict=False)
        if len(parts) != len(rates) or any(rate < part * (1 - 1e-6) for rate, part in pairs):
            return False
    return True


def _wrong_shares(oracle, number, gpu):
    units, whole = oracle.units(gpu.gpu)
    facts = load_catalogue()[gpu.gpu]
    served = [partition.serves[0] for partition in gpu.partitions]
    own = [number[one.workload] for one in served]
    shares = [partition.sm_percent * whole / 100 for partition in gpu.partitions]
    least = oracle.least(gpu.gpu)
    if any(abs(share - round(share)) > 1e-6 or round(share) < least for share in shares) or round(sum(shares)) > units:
        yield f"shares of {shares} units of at least {least}; there are {units}"
    if any(partition.sm_percent > 100 for partition in gpu.partitions):
        yield "a share above 100 %"
    if sum(oracle.memory_mib(w, gpu.gpu) for w in own) > facts.memory_mib * (1 + 1e-6):
        yield "more memory than there is"
    if len(own) * oracle.standby > facts.mps_max_clients.value:
        yield "more MPS clients than are allowed"
    if any(one.batch not in oracle.batches(w, gpu.gpu) for w, one in zip(own, served, strict=True)):
        yield "a batch size that is not allowed"
    residents = [(w, one.batch, round(share)) for w, one, share in zip(own, served, shares, strict=True)]
    for w, one, figure in zip(own, served, oracle.figures(gpu.gpu, residents), strict=True):
        if figure.latency_ms > oracle.limit[w] or one.rate_rps > figure.throughput_rps * (1 + 1e-5):
            yield f"{one.workload} misses its SLO: {figure}"
