"""InSS' decisions, all of them: placements, units and batches of small problems, from the formulas alone."""

from itertools import product


def batch_ms(problem, gpu, residents, i):
    """Returns the times of model i's batches beside the others; residents: model -> units. From the formula alone."""
    one = problem.models[i]
    share = {j: min(u * gpu.unit_percent, 100) for j, u in residents.items()}
    others = sum(
        max(0, problem.models[j].l2_per_percent * share[j] + problem.models[j].l2_offset) for j in residents if j != i
    )
    m = len(residents)
    crowd = m * gpu.crowd_ms_per_kernel + gpu.crowd_offset_ms_per_kernel if m > 1 else 0
    c, p = one.running.linear, share[i] * gpu.computing_power
    for b in range(1, one.most_batch + 1):
        run = c[0] + c[1] * b + c[2] * b / p + c[3] / p
        sent = (one.input_bytes + one.output_bytes) * b / gpu.pcie_bytes_per_ms
        yield b, sent + one.scheduling_ms + crowd * one.kernels + run * (1 + one.cache_sensitivity * others)


def best_on(problem, gpu, models, spare):
    """Returns the most that one GPU carries of these models, or None: every vector of units, every batch."""
    best = None
    for units in product(range(1, gpu.units + 1), repeat=len(models)):
        if sum(units) > gpu.units:
            continue
        residents = dict(zip(models, units, strict=True))
        choices = []
        for i in models:
            one = problem.models[i]
            choices.append(
                [
                    (1000 * b / t, one.memory_mib + one.memory_mib_per_item * b)
                    for b, t in batch_ms(problem, gpu, residents, i)
                    if (b - 1) * 1000 / one.rate_rps + t <= one.slo_ms and 1000 * b / t >= spare * one.rate_rps
                ]
            )
        for chosen in product(*choices):
            if sum(memory for _, memory in chosen) <= gpu.memory_mib:
                value = sum(rps for rps, _ in chosen)
                best = value if best is None else max(best, value)
    return best


def best_of_all(problem, spare):
    """Returns the most that the GPUs carry, or None: every placement."""
    kinds = [gpu for gpu in problem.gpus for _ in range(gpu.count)]
    known = {}
    best = None
    for places in product(range(len(kinds)), repeat=len(problem.models)):
        total = 0.0
        for k, gpu in enumerate(kinds):
            models = tuple(i for i, place in enumerate(places) if place == k)
            if not models:
                continue
            if (gpu.type, models) not in known:
                known[gpu.type, models] = best_on(problem, gpu, models, spare)
            if known[gpu.type, models] is None:
                break
            total += known[gpu.type, models]
        else:
            best = total if best is None else max(best, total)
    return best
