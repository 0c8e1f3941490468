"""The words of the page, each with what it means: said once, shown where a word stands and on one screen."""

from collections.abc import Mapping

GROUPS: Mapping[str, Mapping[str, str]] = {
    "What you state": {
        "fleet": "The GPU types that may be rented, how many of each there are, and how each may be divided.",
        "service": "One model that answers requests, at a rate and within a latency. Files call it a workload.",
        "rate": "Requests per second that a service gets.",
        "SLO": "Service level objective: the latency, in milliseconds, that requests of a service are to be within.",
        "promise": "What a plan holds to: that 99 % (or so many as are asked for) of the requests are within the SLO, "
        "waiting included; or only that the execution of a batch takes at most so much of it.",
        "Poisson arrivals": "Requests of many people who do not know of each other: at random, now close together and "
        "now apart.",
        "weighted round robin": "A service's requests are dealt to its partitions in turn, to each as often as its "
        "part of the rate in the plan.",
        "headroom": "Extra rate that is planned for beside what is stated, as 20 %.",
        "value": "What is lost when a service is left out, in any unit; 1 unless you say more.",
        "price book": "Prices of a cloud, by GPU type, with their date.",
    },
    "How a GPU or CPU is divided": {
        "MIG": "Multi-Instance GPU: the driver cuts a GPU into MIG instances with SMs and memory of their own, which "
        "do not disturb each other. A size is written as 2g.20gb: two of seven compute slices, 20 GB.",
        "MPS": "Multi-Process Service: processes share a whole GPU, each capped to a share of its SMs. They share "
        "caches, bandwidth and power, so that neighbours slow each other.",
        "whole GPU": "One service has the GPU for itself.",
        "partition": "What a GPU is divided into, and what serves: a MIG instance, a share under MPS, or the whole "
        "GPU; of a CPU some of its cores.",
        "SM": "Streaming multiprocessor: what a GPU computes with; an A100 has 108.",
        "process": "A copy of the model that runs; several of them on one partition take turns on its SMs.",
        "batch": "Requests that are executed together. A larger one serves more per second, and takes longer.",
        "round": "Services that take turns on one partition run one after the other, round after round.",
        "cores": "A CPU is divided by its cores; a partition has cores that share a last-level cache (an L3 domain), "
        "or whole such domains.",
        "out of reach": "Memory of a GPU that no MIG instance can use, because of where the others stand.",
        "kept free": "Partitions that serve nothing, so that a service can grow or a lost GPU's services find room.",
    },
    "How good a plan is": {
        "proven least": "No plan at all costs less. It follows from the problem, and holds for plans that nobody "
        "looked at. Researchers call it a lower bound.",
        "price of a partition": "What one more of its kind would add to the least cost. The proof that no plan is "
        "cheaper gives it; a service pays for its partitions by it.",
        "above the least": "How much more a plan costs than the proven least, in % of it. In files: gap.",
        "planner": "A method that makes plans: exact ones that prove, and published rules that are quick.",
        "capacity": "Requests per second that partitions could carry within the SLO, whatever they are asked for.",
        "load": "How much of its capacity a partition is asked for, in %.",
        "slack": "What a latency leaves of the time that it may take, in % of it.",
        "over-provision": "Capacity beyond the rate that is paid for, because partitions come in sizes.",
        "internal slack": "Throughput that is lost because the SLO forbids larger batches.",
        "fragmentation": "Room of rented GPUs in no partition.",
        "sweep": "A plan at every value of a range, of a rate, an SLO, a price or a number of GPUs: what the fleet "
        "costs over it, and what forces each step.",
        "a GPU's worth": "What one GPU carries of a service alone, so that requests of slow and of quick models can be "
        "added up.",
        "P99": "The latency that 99 of 100 requests stay within; P50 and P95 likewise.",
    },
    "What predictions rest on": {
        "profile": "What is known of how fast a model is on a GPU type, by partition, batch and processes.",
        "measured": "The very operating point was measured.",
        "fitted": "It lies on a curve through measurements.",
        "estimated": "Carried over from another GPU type by what the two have, with a margin; nothing was measured.",
        "extrapolated": "Beyond the batch sizes or shares that were measured.",
    },
    "From one plan to the next": {
        "transition": "The ordered steps from what runs to the next plan, with no service below its rate where there "
        "is room.",
        "disturbed": "A service of which a running partition is stopped or moved on the way.",
        "bridge": "A partition that is there only on the way, where new and old do not fit at once.",
        "reset": "What some GPUs need before they can be cut by MIG; all that runs on it stops.",
        "drain": "Requests that a partition has accepted are finished before it stops.",
    },
}
"""By group, in the order in which they are read."""

WORDS: Mapping[str, str] = {word: meaning for group in GROUPS.values() for word, meaning in group.items()}


def meaning(word: str) -> str:
    """Returns what a word means, to stand as the help of what shows it; KeyError if there is no such word."""
    return WORDS[word]


def meanings(*words: str) -> str:
    """Returns what several words of one sentence mean, a paragraph each; KeyError if there is no such word."""
    return "\n\n".join(f"**{word}**: {WORDS[word]}" for word in words)


PROMISE = meanings("promise", "SLO", "Poisson arrivals", "weighted round robin")
"""Of the sentence that says what a plan promises."""
