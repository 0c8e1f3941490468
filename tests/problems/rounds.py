"""A plan by hand in which services take turns, which holds."""

from problems.instances import problem_of
from problems.small_plans import plan_of
from sliceplan.solver.allocation.completed import completed
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.made_by import made_by
from sliceplan.solver.model.plan import Partition, PlannedGpu, Served
from sliceplan.solver.model.prices import prices_of, usd_per_hour_of
from sliceplan.solver.model.profile import merged
from sliceplan.solver.performance.prediction import predict, predict_whole

GPU = "A100-80GB"
WORKLOADS = (
    {"name": "a", "model": "resnet50", "rate_rps": 100, "slo_ms": 100},
    {"name": "b", "model": "mobilenetv2", "rate_rps": 120, "slo_ms": 80},
)


def two_in_a_round(turns="fixed", *, mig_profile="1g.10gb", round_ms=40.0, batches=(4, 8), workloads=WORKLOADS, **more):
    """
    Returns a problem whose services may take turns, and a plan where all of them do, on one partition.

    `mig_profile`: None: on a GPU that is used whole.
    """
    sharing = ["exclusive" if mig_profile is None else "mig"]
    fleet = [{"gpu": GPU, "sharing": sharing}]
    problem = problem_of(workloads, fleet=fleet, **{"turns": turns, **more})
    profiles = merged(shipped_profiles())
    serves = []
    for workload, batch in zip(problem.workloads, batches, strict=True):
        profile = profiles[workload.model, GPU]
        point = predict(profile, mig_profile, batch, 1) if mig_profile else predict_whole(profile, batch, 1)
        serves.append(
            Served(
                workload=workload.name,
                batch=batch,
                processes=1,
                latency_ms=point.latency_ms,
                capacity_rps=1000 * batch / round_ms,
                rate_rps=workload.rate_rps,
                basis="fitted" if mig_profile else "estimated",
                causes_ms=None,
            )
        )
    partition = Partition(
        mig_profile=mig_profile,
        start=None if mig_profile is None else 0,
        sm_percent=None,
        duty_cycle_ms=round_ms,
        serves=serves,
        turns=turns,
    )
    gpu = PlannedGpu(id=f"{GPU}/0", gpu=GPU, node=None, index=None, sharing=sharing[0], partitions=(partition,))
    plan = plan_of(gpu).model_copy(
        update={
            "problem": reference(problem),
            "cost_per_hour": usd_per_hour_of(problem)[GPU],
            "gpu_prices": prices_of(problem),
            "made_by": made_by(),
        }
    )
    return problem, completed(problem, plan, shipped_profiles())


def with_round(plan, **changes):
    """Returns the plan with other fields of its partition."""
    (gpu,) = plan.gpus
    partition = gpu.partitions[0].model_copy(update=changes)
    return plan.model_copy(update={"gpus": (gpu.model_copy(update={"partitions": (partition,)}),)})


def with_turn(plan, number, **changes):
    """Returns the plan with other fields of one turn."""
    serves = list(plan.gpus[0].partitions[0].serves)
    serves[number] = serves[number].model_copy(update=changes)
    return with_round(plan, serves=tuple(serves))
