"""
The fewest small GPUs under MPS for a few services that take turns and slow each other by iGniter's model.

Every content of every share is tried beside every content of the others, and of these every choice of who runs at once,
one number at a time; by execution a share may also have one service that runs back to back. Shares no code with the
planner; what turns keep of requests at random is of slot_chain.py.
"""

from functools import cache
from itertools import combinations_with_replacement, product
from math import ceil

from oracles import igniter_scalar
from oracles.slot_chain import turn_rps
from oracles.turns_on_instances import undominated


def fewest_slowed(problem, profiles, units, clients, most, least=1):
    """
    Returns how many GPUs carry all by the problem's rule, at most `most`; None: more are needed.

    `least`: units of the smallest share.
    """
    needed = tuple(one.rate_rps * (1 + problem.settings.headroom) for one in problem.workloads)
    found = set(carried_by_a_gpu(problem, profiles, units, clients, least))
    one_gpu = undominated(list(found))
    reached = [tuple(0.0 for _ in needed)]
    for count in range(most + 1):
        if any(all(got >= goal * (1 - 1e-9) for got, goal in zip(one, needed, strict=True)) for one in reached):
            return count
        sums = {
            tuple(min(a + b, most) for a, b, most in zip(one, other, needed, strict=True))
            for one in reached
            for other in one_gpu
        }
        reached = undominated(list(sums))
    return None


def fewest_slowed_with_spares(problem, profiles, units, clients, most):
    """
    Returns the fewest where some GPUs keep free what trouble takes, at most `most`; None: more are needed.

    What runs on a GPU moves as a whole to one that serves nothing; a service that needs more has GPUs for itself.
    """
    settings = problem.settings
    needed = [one.rate_rps * (1 + settings.headroom) for one in problem.workloads]
    raised = [rps * (1 + settings.spare_rate) for rps in needed]
    grown = [one.model_copy(update={"rate_rps": one.rate_rps * (1 + settings.spare_rate)}) for one in problem.workloads]
    may_need = problem.model_copy(update={"workloads": tuple(grown)})
    every = list(carried_by_a_gpu(may_need, profiles, units, clients))
    known, alone = {profile.model: profile.interference for profile in profiles}, [0.0] * len(needed)
    for turns, has_round in _contents(problem, known):
        carried = _carried(problem, known, [100.0], [(turns, has_round)]) if len(turns) == 1 else None
        if carried is not None:
            alone = [max(pair) for pair in zip(alone, carried, strict=True)]
    one_gpu, reached = undominated(every), [tuple(0.0 for _ in needed)]
    fewest = None
    for serving in range(most + 1):
        for row in reached:
            if all(got >= goal * (1 - 1e-9) for got, goal in zip(row, needed, strict=True)):
                missing = [max(0.0, want * (1 - 1e-9) - got) for want, got in zip(raised, row, strict=True)]
                if all(alone[w] or not short for w, short in enumerate(missing)):
                    takes = sorted((ceil(short / alone[w]) if short else 0 for w, short in enumerate(missing)))
                    idle = sum(takes[len(takes) - min(settings.spare_services, len(takes)) :])
                    total = serving + max(idle, int(settings.spare_gpu_loss))
                    fewest = total if fewest is None else min(fewest, total)
        sums = {
            tuple(min(a + b, cap) for a, b, cap in zip(one, other, raised, strict=True))
            for one in reached
            for other in one_gpu
        }
        reached = undominated(list(sums))
    return fewest if fewest is not None and fewest <= most else None


def carried_by_a_gpu(problem, profiles, units, clients, least=1):
    """Yields what one GPU may carry of each service, at most its rate, by any content in which all are in time."""
    known = {profile.model: profile.interference for profile in profiles}
    needed = [one.rate_rps * (1 + problem.settings.headroom) for one in problem.workloads]
    yield tuple(0.0 for _ in needed)
    contents = list(_contents(problem, known))
    for number in range(1, min(units, clients) + 1):
        for shares in combinations_with_replacement(range(least, units + 1), number):
            if sum(shares) <= units:
                for chosen in product(contents, repeat=number):
                    carried = _carried(problem, known, [100 * own / units for own in shares], chosen)
                    if carried is not None:
                        yield tuple(min(got, most) for got, most in zip(carried, needed, strict=True))


def _contents(problem, known):
    """Yields what may stand on a share: services with a batch each, and whether they have a round."""
    sizes = []
    for one in problem.workloads:
        extent = known[one.model].measured
        own = one.batch_sizes or range(extent.min_batch, extent.max_batch + 1)
        sizes.append([None, *(batch for batch in own if extent.min_batch <= batch <= extent.max_batch)])
    for chosen in product(*sizes):
        turns = tuple((w, batch) for w, batch in enumerate(chosen) if batch is not None)
        if turns:
            yield turns, True
        if len(turns) == 1:
            yield turns, False


def _carried(problem, known, percent, chosen):
    """Returns what a GPU carries; None: some request is late."""
    worst, least_rps = {}, {}
    for together in product(*(range(len(turns)) for turns, _ in chosen)):
        running = tuple(
            (problem.workloads[turns[k][0]].model, turns[k][1], own)
            for (turns, _), k, own in zip(chosen, together, percent, strict=True)
        )
        for share, (k, figures) in enumerate(zip(together, _figures(tuple(known.items()), running), strict=True)):
            worst[share, k] = max(worst.get((share, k), 0.0), figures.latency_ms)
            least_rps[share, k] = min(least_rps.get((share, k), float("inf")), figures.throughput_rps)
    carried = [0.0] * len(problem.workloads)
    settings = problem.settings
    for share, (turns, has_round) in enumerate(chosen):
        total = sum(worst[share, k] for k in range(len(turns)))
        for k, (w, batch) in enumerate(turns):
            if settings.latency == "percentile":
                executed = total if settings.turns == "any" else worst[share, k]
                left_ms = problem.workloads[w].slo_ms - executed
                own_rps = turn_rps(batch, total, left_ms, settings.quantile) if has_round else 0.0
                if not own_rps:
                    return None
                carried[w] += own_rps
                continue
            slo_ms = problem.workloads[w].slo_ms * settings.slo_fraction
            if not has_round:
                late = worst[share, k] > slo_ms * (1 + 1e-9)
            else:
                own = total if settings.turns == "any" else worst[share, k]
                late = total + own > 2 * slo_ms * (1 + 1e-9)
            if late:
                return None
            carried[w] += 1000 * batch / total if has_round else least_rps[share, k]
    return carried


@cache
def _predicted(gpu, residents):
    return igniter_scalar.predict(gpu, residents)


def _figures(known, running):
    of_model = dict(known)
    gpu = next(iter(of_model.values())).gpu
    return _predicted(gpu, tuple((of_model[model].model, batch, percent) for model, batch, percent in running))
