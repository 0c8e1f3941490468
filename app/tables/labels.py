"""What the columns and settings of a problem are called on the page: words and units, where files have names."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from sliceplan.solver.wording.sharing_words import words_for_names

from .names import IN_FILES
from .pasted_header import Table


@dataclass(frozen=True)
class Label:
    """What one of them is called, and what it means."""

    text: str
    meaning: str
    values: Mapping[str, str] = field(default_factory=dict)
    """Its values, where they are names -> what they are called."""


LABELS: Mapping[Table, Mapping[str, Label]] = {
    "fleet": {
        "gpu": Label("GPU type", "a name of the catalogue; or a CPU type, which is divided by cores"),
        "count": Label("Count", "how many there are; empty: as many as needed"),
        "price_per_hour": Label("Price ($/h)", "dollars for one of them and an hour; empty: the price book's"),
        "price_factor": Label(
            "Price factor", "what the price book's price is multiplied by, as for a reservation or spot: 0.6; empty: 1"
        ),
        "sharing": Label(
            "Divided by", "MIG, MPS, whole GPU (one service a GPU), or several: MIG, MPS; a CPU: CPU cores"
        ),
        "nodes": Label("Nodes", "named nodes and their GPUs, as gpu-node-1:4, gpu-node-2:4; empty: no nodes assigned"),
    },
    "workloads": {
        "name": Label(
            "Service",
            "its name, which no other has, in any script and with spaces; where files and units cannot call it so, the "
            "page says what they call it",
        ),
        "model": Label("Model", "what it serves; a model whose speed is known, as the screen Profiles shows it"),
        "rate_rps": Label("Rate (req/s)", "requests per second that it gets"),
        "slo_ms": Label("SLO (ms)", "the latency, in milliseconds, that its requests are to be within"),
        "min_replicas": Label("Least partitions", "how many serve it at least; empty: 1"),
        "max_replicas": Label("Most partitions", "how many serve it at most; empty: no limit"),
        "batch_sizes": Label("Batch sizes", "those that may be used, as 1, 4, 8; empty: all that are profiled"),
        "gpus": Label("GPU types", "types of the fleet that may serve it; empty: all of them"),
        "memory_mib": Label("Memory (MiB)", "of one process; empty: as profiled"),
        "value": Label("Value", "what is lost when it is left out because GPUs are too few; empty: 1"),
        "slo_quantile": Label(
            "In time", "how many of its requests are to be within the SLO, as 0.999 for 99.9 %; empty: the settings'"
        ),
        IN_FILES: Label(
            "Name in files",
            "what files and units call it, in letters, digits, '.', '_' and '-'; empty: the page makes it of the name",
        ),
    },
}
"""By table: the name of a column -> what it is called."""

SETTINGS: Mapping[str, Label] = {
    "objective": Label(
        "What to aim for",
        "Fewest dollars for what is asked; or, on GPUs that are counted, the most requests that they could carry, with "
        "every service's rate and headroom kept.",
        {"cost": "Fewest dollars", "capacity": "Most requests on these GPUs"},
    ),
    "capacity_weights": Label(
        "What a request counts",
        "Where most requests are the aim: the same for every service, or less for one of which a GPU carries many.",
        {"equal": "the same for all", "solo": "by what one GPU carries"},
    ),
    "bda": Label(
        "Choose batches anew under MPS",
        "Once services are placed: each share gets the batch with which its GPU carries most, and what the GPU has "
        "left is dealt out (InSS, BDA). No service loses any of its rate or its share. Nothing changes where no GPU "
        "is shared by MPS.",
    ),
    "latency": Label(
        "What is promised",
        "That so many % of requests are within the SLO, waiting included, if they arrive at random; that all are, if "
        "they are evenly spaced, with batches that leave at once or are held until they are full; or only that a batch "
        "executes within so many % of the SLO, which promises nothing of a request.",
        {
            "percentile": "so many % of requests in time",
            "worst_case": "all in time, evenly spaced",
            "assembly": "the same, with full batches",
            "execution": "only batches within the SLO",
        },
    ),
    "quantile": Label(
        "Requests in time", "How many of them are to be within the SLO, where that is promised; 0.99 is 99 %."
    ),
    "slo_fraction": Label(
        "SLO for a batch",
        "How much of the SLO a batch may take to execute, where that is what is promised, and for published planners; "
        "the rest is for waiting.",
    ),
    "headroom": Label("Headroom", "Extra rate that is planned for, beyond what is stated; 0.2 is 20 %."),
    "dispatch": Label(
        "How requests are dealt",
        "To the partitions of a service. It decides how much they carry where requests are promised to be in time: in "
        "turn or at random, by the plan's weights; to the one that will be done first; or all partitions take from one "
        "queue.",
        {
            "weighted_round_robin": "in turn, by weights",
            "random": "at random, by weights",
            "least_expected": "to the first to be done",
            "central": "one queue for all",
        },
    ),
    "process_queues": Label(
        "Queues of processes",
        "Whether the processes of a partition take requests from one queue or have a queue each.",
        {"shared": "one a partition", "own": "one a process"},
    ),
    "turns": Label(
        "Taking turns",
        "Whether services may share a partition in time: one after the other, round after round, in slots that are "
        "kept or in any order.",
        {"none": "no", "fixed": "in slots that are kept", "any": "in any order"},
    ),
    "max_processes": Label(
        "Most processes", "Of one service on one partition; several take turns on its SMs and hide each other's gaps."
    ),
    "mps_rules": Label(
        "Decided under MPS",
        "Everything, batch sizes and numbers of partitions too; or only shares, as in iGniter's paper.",
        {"free": "everything", "igniter": "shares, as in iGniter"},
    ),
    "shadow_percent": Label(
        "Free for standbys (%)",
        "Share of each GPU under MPS that is kept free for standby processes, which also need memory; iGniter keeps "
        "10. 0: no standbys.",
    ),
    "spare_services": Label(
        "Services that may grow", "How many may need more at once; partitions are kept free for any so many of them."
    ),
    "spare_rate": Label("By which extra rate", "What each of those may need more, beyond its rate; 0.5 is 50 %."),
    "spare_gpu_loss": Label(
        "Room for a lost GPU", "Partitions are kept free so that whatever ran on any one GPU fits elsewhere."
    ),
    "time_limit_s": Label("Time limit (s)", "The search ends then with the best plan that it has."),
    "gap": Label(
        "Good enough above the least",
        "The search ends as soon as its plan is proven to cost at most so much more than the least; 0.01 is 1 %, 0 "
        "goes on to the proof.",
    ),
}
"""The name of a setting -> what it is called."""

ONLY_OF_FILES = re.compile(r"\w+_\w+")
"""Names that are no words of English, so that each place where one stands means the field."""

SERVICE = re.compile(r"(?<![\w.'-])workload(s?)(?![\w.'\[-])")
"""What files call a service, where it is no part of a name or path."""


WAY = re.compile(r"(?<![\w.'-])(mig|mps|exclusive)(?![\w.'-])")
"""What files call a way of dividing a GPU, where it is neither quoted nor part of a name."""

QUOTED_WAY = re.compile(r"'(mig|mps|exclusive|cores)'")
"""The same where it is quoted as what would be right, behind `expected`."""

EXPECTED = re.compile(r"expected .*")


def texts_of(table: Table) -> dict[str, str]:
    """Returns what each column of a table is called."""
    return {name: label.text for name, label in LABELS[table].items()}


def in_words(text: str, table: Table | None = None) -> str:
    """
    Returns what is said of fields of a problem, with what the page calls them.

    Parameters
    ----------
    table
        The table of whose row it is said; each part of the text, up to a semicolon, may begin with a column's name.
        Names that are also words (value, turns) are taken for fields nowhere else.
    """
    text = settings_in_words(text)
    if table is not None:
        columns = LABELS[table]
        text = re.sub(
            r"(?:^|(?<=; ))[a-z]+\b",
            lambda found: columns[found[0]].text if found[0] in columns else found[0],
            text,
        )
    text = WAY.sub(lambda found: words_for_names(found[0]), SERVICE.sub(r"service\1", text))
    text = EXPECTED.sub(lambda right: QUOTED_WAY.sub(lambda way: words_for_names(way[1]), right[0]), text)
    return ONLY_OF_FILES.sub(lambda found: _called(found[0]), text)


def settings_in_words(text: str) -> str:
    """Returns a text with the names of settings, and values beside them, as the page calls them, in quotation marks."""
    text = re.sub(r"\bsettings\.(\w+): (\w+)", lambda found: _with_value(found[1], found[2]) or found[0], text)
    return re.sub(r"\bsettings\.(\w+)", lambda found: _called(found[1]), text)


def _with_value(name: str, value: str) -> str | None:
    """Returns a setting with its value as the page calls both; None: it does not name them."""
    known = SETTINGS.get(name)
    return None if known is None or value not in known.values else f"“{known.text}: {known.values[value]}”"


def _called(name: str) -> str:
    known = next((labels[name] for labels in (SETTINGS, *LABELS.values()) if name in labels), None)
    return name if known is None else known.text
