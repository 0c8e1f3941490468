"""What two plans must be before anything is planned between them."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from ..model.catalogue import load_catalogue
from ..model.errors import Finding, InputError
from ..model.parsing import closest
from ..model.plan import Partition, Plan, PlannedGpu
from .room import FULL_PERCENT, fits_placement, placement, rules_of
from .tenancies import IdleGpus, tenancy

MOST_SPARE = 100_000


def parse_spare(texts: Iterable[str]) -> IdleGpus:
    """Returns what `TYPE=N` and `TYPE=NODE/INDEX` say; raises InputError with everything that they do not."""
    counts: dict[str, int] = {}
    places: list[tuple[str, str, int]] = []
    findings = []
    catalogue = load_catalogue()
    for text in texts:
        name, _, rest = text.partition("=")
        node, _, index = rest.rpartition("/")
        number = index if node else rest
        if name not in catalogue:
            findings.append(Finding("--spare", text, f"names no GPU of the catalogue. {closest(name, catalogue)}"))
        elif not number.isascii() or not number.isdigit() or int(number) > MOST_SPARE:
            message = f"expected TYPE=N, N up to {MOST_SPARE:,}, or TYPE=NODE/INDEX, as {name}=1 or {name}=gpu-node-1/3"
            findings.append(Finding("--spare", text, message))
        elif (node and (name, node, int(number)) in places) or (not node and name in counts):
            findings.append(Finding("--spare", text, "stands there twice"))
        elif node:
            places.append((name, node, int(number)))
        else:
            counts[name] = int(number)
    if findings:
        raise InputError(findings)
    return IdleGpus(counts, tuple(places))


def refuse_used(idle: IdleGpus, old: Plan, source: str) -> None:
    """Refuses named idle GPUs that the old plan uses; raises InputError with every finding."""
    used = {(gpu.node, gpu.index): gpu.id for gpu in old.gpus if gpu.node is not None}
    findings = [
        Finding("--spare", f"{gpu}={node}/{index}", f"is {used[node, index]} of {source}, which is in use")
        for gpu, node, index in idle.places
        if (node, index) in used
    ]
    if findings:
        raise InputError(findings)


def refuse_unusable(plans: Mapping[str, Plan]) -> None:
    """
    Refuses plans that are none, or whose GPUs cannot be as they say.

    Parameters
    ----------
    plans
        The plans by the names of their files.

    Raises
    ------
    InputError
        With every finding.
    """
    if findings := [finding for source, plan in plans.items() for finding in _findings(source, plan)]:
        raise InputError(findings)


def _findings(source: str, plan: Plan) -> Iterator[Finding]:
    if not plan.gpus:
        yield Finding(source, "gpus", f"is empty (status {plan.status}); there is nothing to come from or go to")
    for name, times in Counter(gpu.id for gpu in plan.gpus).items():
        if times > 1:
            yield Finding(source, "gpus", f"lists {name} {times} times")
    places = Counter((gpu.node, gpu.index) for gpu in plan.gpus if gpu.node is not None)
    for (node, index), times in places.items():
        if times > 1:
            yield Finding(source, "gpus", f"lists GPU {index} of {node} {times} times")
    for i, gpu in enumerate(plan.gpus):
        for path, message in _wrong_gpu(gpu):
            yield Finding(source, f"gpus[{i}]{path}", message)


def _wrong_gpu(gpu: PlannedGpu) -> Iterator[tuple[str, str]]:
    catalogue = load_catalogue()
    if gpu.gpu not in catalogue:
        yield ".gpu", f"is {gpu.gpu!r}; not in the catalogue. {closest(gpu.gpu, catalogue)}"
        return
    if gpu.node is not None and gpu.index is None:
        yield ".index", "is null; a GPU with a node needs its index there"
    if gpu.sharing == "mig":
        yield from _wrong_instances(gpu)
        return
    for j, partition in enumerate(gpu.partitions):
        if partition.mig_profile is not None or partition.start is not None:
            yield f".partitions[{j}]", f"is a MIG instance, but the GPU is shared by {gpu.sharing}"
    if gpu.sharing == "exclusive" and len(gpu.partitions) > 1:
        yield ".partitions", f"are {len(gpu.partitions)}; a GPU that is used whole has one"
    if gpu.sharing == "mps":
        percent = sum(partition.sm_percent or 0.0 for partition in gpu.partitions)
        if percent > FULL_PERCENT or any(partition.sm_percent is None for partition in gpu.partitions):
            yield ".partitions", f"take {percent:g} % in all; each needs its share, and there are 100 %"


def _wrong_instances(gpu: PlannedGpu) -> Iterator[tuple[str, str]]:
    if load_catalogue()[gpu.gpu].mig is None:
        yield ".sharing", f"is 'mig', but {gpu.gpu} has no MIG"
        return
    standing: tuple[Partition, ...] = ()
    for j, partition in enumerate(gpu.partitions):
        where, known = f".partitions[{j}]", rules_of(gpu.gpu).by_name
        if partition.mig_profile not in known:
            hint = closest(partition.mig_profile or "", known)
            yield f"{where}.mig_profile", f"is {partition.mig_profile!r}; {gpu.gpu} has no such profile. {hint}"
        elif partition.start not in known[partition.mig_profile].starts:
            legal = ", ".join(map(str, known[partition.mig_profile].starts))
            yield f"{where}.start", f"is {partition.start}; {partition.mig_profile} may start at {legal}"
        elif not _fits(gpu, standing, partition):
            yield where, f"{partition.mig_profile} at {partition.start} does not fit beside the partitions before it"
        else:
            standing = (*standing, partition)


def _fits(gpu: PlannedGpu, standing: tuple[Partition, ...], added: Partition) -> bool:
    places = sorted(placement(tenancy(one, "mig")) for one in standing)
    return fits_placement(gpu.gpu, tuple(places), placement(tenancy(added, "mig")))
