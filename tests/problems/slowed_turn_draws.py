"""Random small problems whose services take turns on shares that slow each other by iGniter's model."""

from random import Random

from oracles import igniter_scalar

from problems.instances import problem_of
from problems.mps_draws import drawn_profile, gpu_coefficients, small_gpu


def slowed_turns(seed, **settings):
    """
    Returns a problem of one to three services on GPUs of a few units, their profiles, and the units.

    To be called within `small_gpus()`.
    """
    draw = Random(f"slowed {seed}")
    units, services, batches = draw.choice(((3, 2, 2), (3, 3, 1), (3, 1, 3), (5, 2, 1)))
    gpu, of_gpu = small_gpu(units), gpu_coefficients(draw)
    profiles = [without_memory(drawn_profile(draw, f"m{i}", gpu, of_gpu, tables=False)) for i in range(2)]
    workloads = []
    for _ in range(services):
        known = (profile := draw.choice(profiles)).interference
        sizes = range(known.measured.min_batch, known.measured.max_batch + 1)
        sizes = sorted(draw.sample(sizes, k=min(batches, len(sizes))))
        share = 100 * draw.randint(1, units) / units
        alone = igniter_scalar.predict(known.gpu, [(known.model, draw.choice(sizes), share)])[0]
        workloads.append(
            {
                "model": profile.model,
                "batch_sizes": sizes,
                "slo_ms": min(1e8, alone.latency_ms * draw.choice((2.001, draw.uniform(2, 4), draw.uniform(2, 20)))),
                "rate_rps": alone.throughput_rps
                * draw.choice((1e-3, 0.1, 0.3, draw.uniform(0, 1), draw.uniform(0, 3))),
            }
        )
    asked = {"turns": draw.choice(("fixed", "fixed", "any")), "headroom": draw.choice((0.0, 0.0, 0.1)), **settings}
    fleet = [{"gpu": gpu, "sharing": ["mps"], "price_per_hour": 1.0}]
    return problem_of(workloads, fleet=fleet, name=f"slowed-{seed}", **asked), profiles, units


def without_memory(profile):
    """Returns a profile that says nothing of memory, of which the bound knows nothing."""
    return profile.model_copy(update={"interference": profile.interference.model_copy(update={"memory_mib": None})})
