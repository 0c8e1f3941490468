"""
Triton's model configurations, config.pbtxt (triton-inference-server/common, protobuf/model_config.proto).

A server runs in each partition, with the model as many times as the plan has processes there (instance_group.count), on
the only GPU that it sees (gpus: 0). max_batch_size and preferred_batch_size are the plan's batch size.

max_queue_delay_microseconds is what the SLO leaves for collecting a batch. The plan keeps a batch's execution, the
latency L, within slo_fraction of the SLO S; "the rest is batching and queueing". A request whose batch is complete may
find all instances busy, and one of them is free again within L; then its own batch takes L. So the delay D may be

    D = S - L (waiting for an instance) - L (execution),   at least 0

and is at least 0 where slo_fraction is at most 1/2, the default. It is a bound for a queue that holds no more than the
next batch, which is what the plan's capacity provides for, and rounded down to whole microseconds.

A plan that promises more than execution (a percentile, or all of evenly spaced requests) counts on a free instance that
takes what waits at once (docs/explanation/latency-rules.md): there D = 0, for a batch that is held is late for more.
With `latency: assembly` it counts on batches that are held: D is the plan's `dispatch_after_ms`.
"""

from collections.abc import Mapping
from math import floor

from ...model.errors import Finding, InputError
from ...model.labels import in_comment
from ...model.parsing import grouped
from ...model.plan import Plan
from .planned_gpus import known_gpus
from .serving_groups import ServingGroup, serving_groups
from .target import Export, Options

COMPLETE = (
    "Each file lacks what the plan does not know: platform or backend, inputs and outputs (Triton fills them in itself "
    "for ONNX, TensorRT and others)."
)

THREADS = (
    "Triton runs instances as threads of one process; the plan's figures are for as many processes through MPS, where "
    "count is above 1."
)

ONE_CAP = (
    "As one process they have one cap: start such a server with the whole share (CUDA_MPS_ACTIVE_THREAD_PERCENTAGE), "
    "not with what other exports give each of several processes; the agent does so with `copies: threads`."
)


def export(plan: Plan, options: Options) -> Export:
    """
    Returns GROUP/MODEL/config.pbtxt for each group of alike partitions: GROUP is the model repository of its servers.

    Raises
    ------
    InputError
        If the problem, which has the SLOs, is not given, or has other workloads.
    """
    source = options.source
    gpus = known_gpus(plan, source)
    if options.problem is None:
        message = (
            "is missing; the queue delay is computed from the SLOs, which are in the problem that the plan answers"
        )
        raise InputError([Finding("--problem", "", message)])
    slos = {workload.name: workload.slo_ms for workload in options.problem.workloads}
    groups = serving_groups(gpus, source)
    findings = [
        Finding(source, member.gpu.where(member.part), f"serves {group.workload}, which is not in the problem")
        for group in groups
        for member in group.members[:1]
        if group.workload not in slos
    ]
    if findings:
        raise InputError(grouped(findings))
    files = {
        f"{group.name}/{group.workload}/config.pbtxt": _config(
            plan.labels, group, slos[group.workload], _delay_us(plan, group, slos)
        )
        for group in groups
    }
    late = dict.fromkeys(group.workload for group in groups if 2 * group.latency_ms > slos[group.workload])
    nothing_left = (f"Nothing of the SLO is left for collecting batches: {', '.join(late)}.",) if late else ()
    several = [group for group in groups if group.processes > 1]
    threads = (THREADS,) if several else ()
    capped = (ONE_CAP,) if any(group.process_percent is not None for group in several) else ()
    return Export(files, (COMPLETE, *threads, *capped, *nothing_left))


def queue_delay_us(slo_ms: float, latency_ms: float) -> int:
    """Returns how long a request may wait for its batch to fill, in whole microseconds (see above)."""
    return max(0, floor(1000 * (slo_ms - 2 * latency_ms)))


def _delay_us(plan: Plan, group: ServingGroup, slos: Mapping[str, float]) -> int:
    if plan.promise is None:
        return queue_delay_us(slos[group.workload], group.latency_ms)
    return floor(1000 * (group.dispatch_after_ms or 0.0))


def _config(labels: Mapping[str, str], group: ServingGroup, slo_ms: float, delay_us: int) -> str:
    place = "" if group.node is None else f" of {group.node}"
    kind = group.part.profile.name if group.part.profile else f"{group.part.partition.sm_percent or 100:g} % of the GPU"
    lines = [
        f"# {in_comment(labels, group.workload)} on {len(group.members)} x {kind} of {group.facts.name}{place}: "
        f"SLO {slo_ms:g} ms,",
        f"# predicted latency {group.latency_ms:.3f} ms a batch. Not tried on a server.",
        f'name: "{group.workload}"',
        f"max_batch_size: {group.batch}",
        "instance_group [",
        "  {",
        f"    count: {group.processes}",
        "    kind: KIND_GPU",
        "    gpus: [ 0 ]",
        "  }",
        "]",
    ]
    if group.batch > 1:
        lines += [
            "dynamic_batching {",
            f"  preferred_batch_size: [ {group.batch} ]",
            f"  max_queue_delay_microseconds: {delay_us}",
            "}",
        ]
    return "\n".join(lines) + "\n"
