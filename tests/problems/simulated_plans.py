"""A problem of two services and a plan for it by hand, to be simulated."""

from problems.small_plans import plan_of
from sliceplan.solver.model.digest import reference
from sliceplan.solver.model.plan import Partition, PlannedGpu, Served
from sliceplan.solver.model.problem import FleetEntry, Problem, Workload


def served(workload, rate, *, batch=4, processes=1, latency_ms=10.0):
    """Returns a workload's part of a partition; its capacity is that of its batches."""
    return Served(
        workload=workload,
        batch=batch,
        processes=processes,
        latency_ms=latency_ms,
        capacity_rps=1000 * batch * processes / latency_ms,
        rate_rps=rate,
        basis="measured",
        causes_ms=None,
    )


def instance(start, *serves, duty_cycle_ms=None):
    """Returns a 1g.10gb instance."""
    return Partition(mig_profile="1g.10gb", start=start, sm_percent=None, duty_cycle_ms=duty_cycle_ms, serves=serves)


def gpu(number, *partitions):
    """Returns an A100 cut by MIG."""
    name = f"A100-80GB/{number}"
    return PlannedGpu(id=name, gpu="A100-80GB", node=None, index=None, sharing="mig", partitions=partitions)


def problem_of(**rates):
    """Returns a problem with services of these rates, resnet50 within 30 ms each."""
    workloads = [Workload(name=name, model="resnet50", rate_rps=rate, slo_ms=30) for name, rate in rates.items()]
    return Problem(version=1, name="simulated", fleet=(FleetEntry(gpu="A100-80GB"),), workloads=tuple(workloads))


def answered(problem, *gpus):
    """Returns the plan with these GPUs for a problem."""
    return plan_of(*gpus).model_copy(update={"problem": reference(problem)})


def two_services(a=500.0, b=200.0):
    """Returns `a` on two GPUs, 400 requests/s each, and `b` on the second one with two processes; and their plan."""
    problem = problem_of(a=a, b=b)
    first = gpu(0, instance(0, served("a", a / 2)))
    second = gpu(1, instance(0, served("a", a / 2)), instance(1, served("b", b, processes=2)))
    return problem, answered(problem, first, second)
