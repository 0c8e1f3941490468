"""Random problems whose services take turns on parts of an A100, small enough to try everything."""

from random import Random

from problems.instances import problem_of
from sliceplan.solver.model.fit_error import FitError
from sliceplan.solver.model.interference import NeighbourModel
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance

GPU = "A100-80GB"
COMPUTE = {"1g.10gb": 1, "3g.40gb": 3, "7g.80gb": 7}
DRAWN = Provenance(source="drawn", method="random")


SHARES = (30.0, 50.0, 100.0)
"""Of a GPU under MPS, at which models are measured alone."""

ON_INSTANCES = (["mig"], ["mig"], ["mig", "exclusive"])
WITH_SHARES = (["mps"], ["mps", "mig"], ["mps", "exclusive"], ["mps", "mig", "exclusive"])


def turning_on_instances(seed, *, percentile=False, kinds=ON_INSTANCES, limited=False):
    """
    Returns a problem of one to three services, and the tables of their models on three sizes of instances and shares.

    `kinds`: the ways to share a GPU that are drawn from. `limited`: services have limits on replicas.
    """
    draw = Random(f"instances {seed}")
    batches = draw.choice(((1,), (1, 2), (1, 4), (2, 3)))
    profiles = [_profile(draw, f"m{i}", batches) for i in range(2)]
    workloads = [_workload(draw, draw.choice(profiles)) for _ in range(draw.choice((1, 2, 3, 3)))]
    entry = {"gpu": GPU, "sharing": draw.choice(kinds)}
    entry["price_per_hour"] = draw.choice((1.0, 3.43))
    if draw.random() < 0.3:
        entry["count"] = draw.choice((1, 2))
    settings = {"turns": draw.choice(("fixed", "fixed", "any")), "headroom": draw.choice((0.0, 0.0, 0.1))}
    settings["slo_fraction"] = draw.choice((0.5, 0.5, 0.4))
    if percentile:
        del settings["slo_fraction"]
        settings |= {"latency": "percentile", "quantile": draw.choice((0.9, 0.95, 0.99)), "max_processes": 1}
        settings["dispatch"] = draw.choice(("random", "weighted_round_robin"))
    if "mps" in entry["sharing"]:
        profiles = [one.model_copy(update={"points": (*one.points, *_shares(draw, one))}) for one in profiles]
    if limited:
        workloads = [{**one, **_limits(draw)} for one in workloads]
    return problem_of(workloads, fleet=[entry], name=f"instances-{seed}", **settings), profiles


def _profile(draw, model, batches):
    scale = draw.choice((1, 1, 0.05, 100))
    first, per_item, growth = scale * draw.uniform(0.3, 4), scale * draw.uniform(0.3, 3), draw.uniform(0.2, 1.1)
    points = []
    for name, compute in COMPUTE.items():
        for processes in draw.choice(((1,), (1, 2))):
            for batch in batches:
                ms = (first + per_item * batch) * (7 / compute) ** growth * (1 + 0.7 * (processes - 1))
                points.append(
                    MeasuredPoint(
                        mig_profile=name,
                        batch=batch,
                        processes=processes,
                        latency_ms=ms,
                        throughput_rps=1000 * batch * processes / ms,
                        memory_mib=draw.choice((None, 3000.0 * processes, 6000.0 * processes)),
                    )
                )
    return Profile(model=model, gpu=GPU, provenance=DRAWN, points=tuple(points))


def _shares(draw, profile):
    """Returns points at some shares, from the times of the largest instance."""
    growth, shares = draw.uniform(0.2, 1.1), draw.choice((SHARES, SHARES, SHARES[:2], SHARES[1:]))
    whole = [one for one in profile.points if one.mig_profile == "7g.80gb" and one.processes == 1]
    return tuple(
        MeasuredPoint(
            sm_percent=share,
            batch=one.batch,
            processes=1,
            latency_ms=(ms := one.latency_ms * (100 / share) ** growth),
            throughput_rps=1000 * one.batch / ms,
        )
        for share in shares
        for one in whole
    )


def _limits(draw):
    least = draw.choice((1, 1, 1, 2, 3))
    return {"min_replicas": least, "max_replicas": draw.choice((None, least, least, least + 1))}


def _workload(draw, profile):
    point = draw.choice(profile.points)
    return {
        "model": profile.model,
        "slo_ms": point.latency_ms * draw.choice((2.0001, draw.uniform(2, 4), draw.uniform(2, 12))),
        "rate_rps": point.throughput_rps * draw.choice((1e-6, 0.1, 0.5, 1.0, draw.uniform(0, 1), draw.uniform(0, 4))),
    }


def beside_neighbours(seed):
    """Returns a problem of one or two services on shares under MPS that slow each other by gpu-lets' linear model."""
    problem, profiles = turning_on_instances(seed, kinds=[["mps"]])
    draw = Random(f"neighbours {seed}")
    figures = {name: draw.uniform(-0.002, 0.008) for name in ("own_l2", "other_l2", "own_dram", "other_dram")}
    model = NeighbourModel(
        **figures, constant=draw.uniform(-0.1, 0.1), pairs=1, error=FitError(points=1, median=0, p95=0, max=0)
    )
    slowed = []
    for profile in profiles:
        points = tuple(
            point.model_copy(update={"l2_percent": draw.uniform(5, 90), "dram_percent": draw.uniform(5, 90)})
            for point in profile.points
            if point.sm_percent is not None
        )
        slowed.append(profile.model_copy(update={"points": points, "neighbours": model}))
    return problem.model_copy(update={"workloads": problem.workloads[:2]}), slowed


def small_services(**settings):
    """Twelve services that need a part of a partition each."""
    workloads = [
        {"model": model, "rate_rps": rate, "slo_ms": slo_ms}
        for model in ("resnet50", "vgg16", "mobilenetv2")
        for rate, slo_ms in ((3, 200), (12, 250), (30, 400), (45, 150))
    ]
    return problem_of(workloads, **{"turns": "fixed", **settings})
