"""Plans of a few lines, for transitions that can be seen through."""

from sliceplan.solver.model.plan import Bound, Partition, Plan, PlannedGpu, ProblemReference, Search, Served, Status


def plan_of(*gpus):
    """Returns a plan with these GPUs; what it costs is not planned."""
    return Plan(
        version=1,
        problem=ProblemReference(name="small", sha256="0" * 64),
        planner="by-hand",
        status=Status.FEASIBLE,
        cost_per_hour=None,
        gpus_used=len(gpus),
        bound=Bound(cost_per_hour=None, gpus=None, method="none"),
        gap=None,
        search=Search(stopped="heuristic_done", time_limit_s=None, solver=None),
        runtime_s=0.0,
        gpus=gpus,
        unserved=(),
        violations=(),
        warnings=(),
        shadow=None,
        metrics=None,
    )


def gpu_of(name, *partitions, node=None, index=None):
    """Returns a GPU, named as A100-80GB/0, with partitions of one kind; without a node unless one is given."""
    first = partitions[0]
    sharing = "mig" if first.mig_profile is not None else "mps" if first.sm_percent is not None else "exclusive"
    sharing = sharing if first.cores is None else "cores"
    return PlannedGpu(id=name, gpu=name.split("/")[0], node=node, index=index, sharing=sharing, partitions=partitions)


def partition_of(place, workload, rate, capacity=None):
    """
    Returns a partition that serves one workload.

    Parameters
    ----------
    place
        As "3g.40gb@4"; a percentage of the SMs; or None: the whole GPU.
    rate, capacity
        Requests/s; a capacity that is not given is the rate.
    """
    profile, start = place.split("@") if isinstance(place, str) else (None, None)
    served = Served(
        workload=workload,
        batch=1,
        processes=1,
        latency_ms=10.0,
        capacity_rps=rate if capacity is None else capacity,
        rate_rps=rate,
        basis="measured",
        causes_ms=None,
    )
    return Partition(
        mig_profile=profile,
        start=None if start is None else int(start),
        sm_percent=place if isinstance(place, int | float) else None,
        duty_cycle_ms=None,
        serves=(served,),
    )


def cores_of(start, cores, workload, rate, capacity=None):
    """Returns a partition of a CPU that serves one workload; requests/s as in `partition_of`."""
    place = {"start": start, "cores": cores}
    return partition_of(None, workload, rate, capacity).model_copy(update=place)


def in_turn(*partitions, round_ms=40.0, turns="fixed"):
    """Returns the first of some partitions, on which what all of them serve takes turns."""
    serves = tuple(served for one in partitions for served in one.serves)
    return partitions[0].model_copy(update={"serves": serves, "duty_cycle_ms": round_ms, "turns": turns})
