"""Problems that are made of GPUs under MPS which serve them, by the scalar equations of iGniter's model."""

import random

from oracles import igniter_scalar, promise_scalar

from problems.igniter_instances import COEFFICIENTS, FLEET, GPU, MODELS
from problems.instances import problem_of


def gpu_of(draw, models):
    """Returns the residents of a GPU as (service, latency, throughput, batch), services by their models."""
    count = draw.choice([1, 1, 2, 3, 4, 6, 9])
    cuts = sorted(draw.sample(range(1, 40), count - 1))
    ends = [*cuts, draw.choice([40, 40, 40, max(cuts, default=20) + 1])]
    units = [end - begin for begin, end in zip([0, *cuts], ends, strict=True)]
    service = [draw.randrange(len(models)) for _ in units]
    batch = [draw.choice([1, 2, 4, 7, 12, 24]) for _ in units]
    residents = [(COEFFICIENTS[models[w]], b, u * 2.5) for w, b, u in zip(service, batch, units, strict=True)]
    figures = igniter_scalar.predict(GPU, residents)
    return [(w, f.latency_ms, f.throughput_rps, b) for w, f, b in zip(service, figures, batch, strict=True)]


def planted(seed, *, most_gpus=4, fleet=FLEET, **settings):
    """Returns a problem that some GPUs serve which are full of residents at their limits, and these GPUs."""
    draw = random.Random(seed)
    models = [draw.randrange(4) for _ in range(draw.randint(1, 6))]
    gpus = [gpu_of(draw, models) for _ in range(draw.randint(1, most_gpus))]
    workloads = []
    for w, model in enumerate(models):
        own = [(latency, rate) for gpu in gpus for service, latency, rate, _ in gpu if service == w]
        if own:
            slo = 2 * max(latency for latency, _ in own) * draw.choice([1.0, 1.0, 1.3])
            rate = sum(rate for _, rate in own)
            workloads.append({"name": str(w), "model": MODELS[model], "slo_ms": slo, "rate_rps": rate})
    return problem_of(workloads, fleet=fleet, **settings), [[one[:3] for one in gpu] for gpu in gpus]


def promised(seed, *, most_gpus=4, fleet=FLEET, dispatch="weighted_round_robin", quantile=0.95):
    """Returns a problem of requests that wait, and the GPUs it was made of: the third is what a resident carries."""
    draw = random.Random(seed)
    models = [draw.randrange(4) for _ in range(draw.randint(1, 6))]
    gpus = [gpu_of(draw, models) for _ in range(draw.randint(1, most_gpus))]
    slo = {}
    for w in range(len(models)):
        times = [max(one[1], 1000 * one[3] / one[2]) for gpu in gpus for one in gpu if one[0] == w]
        slo[w] = max(times, default=0.0) * draw.choice([2.3, 3.0, 4.5])
    whole = {}
    for w in slo:
        # What is carried rises with the rate of the service: so it carries no less than the sum of a lower rate.
        whole[w] = 1e-9
        for _ in range(12):
            whole[w] = max(
                sum(rule_rps(one, slo[w], quantile, whole[w], dispatch) for gpu in gpus for one in gpu if one[0] == w),
                1e-9,
            )
    known = [
        [(one[0], one[1], rule_rps(one, slo[one[0]], quantile, whole[one[0]], dispatch)) for one in gpu] for gpu in gpus
    ]
    workloads = [
        {"name": str(w), "model": MODELS[models[w]], "slo_ms": slo[w], "rate_rps": whole[w]}
        for w in slo
        if whole[w] > 1e-6
    ]
    settings = {"latency": "percentile", "quantile": quantile, "dispatch": dispatch}
    return problem_of(workloads, fleet=fleet, **settings), known


def rule_rps(resident, slo_ms, quantile, whole_rps, dispatch):
    _, latency_ms, throughput_rps, batch = resident
    time_ms = max(latency_ms, 1000 * batch / throughput_rps)
    by_turns = dispatch != "random"
    return promise_scalar.greatest_rps(batch, time_ms, slo_ms, quantile, whole_rps, by_turns=by_turns)
