"""What two plans must be before anything is planned between them."""

from collections.abc import Iterable, Iterator, Mapping

from ..model.catalogue import load_catalogue, load_cpus
from ..model.division import in_turn, no_cpus, overcommitted, wrong_gpus
from ..model.errors import Finding, InputError
from ..model.parsing import closest
from ..model.plan import Plan
from .tenancies import IdleGpus

MOST_SPARE = 100_000

NO_CPUS = ("replanning knows GPUs only", "plan the GPUs and the CPUs as two problems, and replan that of the GPUs")


def parse_spare(texts: Iterable[str]) -> IdleGpus:
    """Returns what `TYPE=N` and `TYPE=NODE/INDEX` say; raises InputError with everything that they do not."""
    counts: dict[str, int] = {}
    places: list[tuple[str, str, int]] = []
    findings = []
    catalogue = {*load_catalogue(), *load_cpus()}
    for text in texts:
        name, _, rest = text.partition("=")
        node, _, index = rest.rpartition("/")
        number = index if node else rest
        if name not in catalogue:
            findings.append(
                Finding("--spare", text, f"names no GPU of the catalogue, and no CPU. {closest(name, catalogue)}")
            )
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
    cpus = load_cpus()  # counted apart: a node has a GPU 0 and a CPU 0
    used = {(gpu.sharing == "cores", gpu.node, gpu.index): gpu.id for gpu in old.gpus if gpu.node is not None}
    findings = [
        Finding("--spare", f"{gpu}={node}/{index}", f"is {used[gpu in cpus, node, index]} of {source}, which is in use")
        for gpu, node, index in idle.places
        if (gpu in cpus, node, index) in used
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


def refuse_unreplannable(source: str, plan: Plan) -> None:
    """Refuses a running plan that is none, or that replanning does not know; raises InputError with every finding."""
    known = [Finding(source, *wrong) for wrong in no_cpus(plan, *NO_CPUS)]
    for i, gpu in enumerate(plan.gpus):
        for j, partition in enumerate(gpu.partitions):
            if (rounds := in_turn(partition)) is not None:
                message = f"are {rounds}; replanning knows services that are served back to back only"
                known.append(Finding(source, f"gpus[{i}].partitions[{j}].serves", message))
    if findings := [*_findings(source, plan), *known]:
        raise InputError(findings)


def _findings(source: str, plan: Plan) -> Iterator[Finding]:
    if not plan.gpus:
        yield Finding(source, "gpus", f"is empty (status {plan.status}); there is nothing to come from or go to")
    yield from (Finding(source, *wrong) for wrong in wrong_gpus(plan))
    for i, gpu in enumerate(plan.gpus):
        if too_much := overcommitted(gpu):
            yield Finding(source, f"gpus[{i}].partitions", too_much)
