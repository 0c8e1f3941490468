"""
Problems that together switch on everything that a problem can ask for: what goes with MPS, with partitions that are
kept free, with a promise of percentiles, and with most capacity for the objective.
"""

from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.model.problem import Problem

BOOK = {
    "name": "ours",
    "cloud": "our own",
    "region": "cellar",
    "commitment": "bought",
    "note": "what accounting says",
    "prices": [
        {"gpu": gpu, "usd_per_gpu_hour": usd, "instance": "rack", "gpu_count": 2, "date": "2026-11", "source": "a bill"}
        for gpu, usd in (("A100-80GB", 2.5), ("A100-40GB", 1.6), ("V100-SXM2-16GB", 0.9))
    ],
}

CUT = {
    "gpu": "A100-80GB",
    "price_factor": 0.6,
    "sharing": ["mig", "exclusive"],
    "nodes": [{"name": "n1", "count": 3}, {"name": "n2", "count": 1}],
}

VISION = {
    "name": "vision",
    "model": "resnet50",
    "rate_rps": 400.5,
    "slo_ms": 150,
    "batch_sizes": [4, 8, 16],
    "min_replicas": 2,
    "max_replicas": 6,
    "memory_mib": 1500,
    "value": 3,
}

OWN = [
    one.model_copy(update={"model": "our-words"}).model_dump()
    for one in shipped_profiles()
    if (one.model, one.gpu) == ("bert", "A100-80GB")
]
"""A model of the problem's own."""

SHARED = Problem.model_validate(
    {
        "version": 1,
        "name": "everything-shared",
        "profiles": OWN,
        "fleet": [
            CUT,
            {"gpu": "V100-SXM2-16GB", "sharing": ["mps", "exclusive"], "count": 8},
            {"gpu": "T4", "price_per_hour": 0.4, "sharing": ["mps"], "count": 6},
        ],
        "workloads": [
            VISION,
            {"name": "words", "model": "our-words", "rate_rps": 40, "slo_ms": 500, "gpus": ["A100-80GB"]},
            {"name": "faces", "label": "Gesichter & 顔", "model": "vgg19", "rate_rps": 60, "slo_ms": 60},
            {"name": "boxes", "model": "ssd", "rate_rps": 40, "slo_ms": 80, "gpus": ["V100-SXM2-16GB", "T4"]},
            {"name": "old", "model": "alexnet", "rate_rps": 150, "slo_ms": 40, "max_replicas": 3},
        ],
        "settings": {
            "slo_fraction": 0.6,
            "max_processes": 2,
            "mps_rules": "igniter",
            "shadow_percent": 10,
            "headroom": 0.1,
            "time_limit_s": 20,
            "gap": 0.001,
        },
        "prices": "ours",
        "price_books": [BOOK],
    }
)

SPARE = Problem.model_validate(
    {
        "version": 1,
        "name": "everything-spare",
        "fleet": [CUT, {"gpu": "A100-40GB", "sharing": ["mig"], "count": 4}],
        "workloads": [
            VISION,
            {"name": "words", "model": "bert", "rate_rps": 40, "slo_ms": 500},
            {"name": "faces", "model": "vgg19", "rate_rps": 60, "slo_ms": 200, "gpus": ["A100-80GB"]},
        ],
        "settings": {
            "slo_fraction": 0.6,
            "max_processes": 2,
            "spare_services": 1,
            "spare_rate": 0.2,
            "spare_gpu_loss": True,
            "headroom": 0.1,
            "time_limit_s": 20,
            "gap": 0.001,
        },
        "prices": "ours",
        "price_books": [BOOK],
    }
)

WAITING = Problem.model_validate(
    {
        "version": 1,
        "name": "everything-waiting",
        "fleet": [CUT, {"gpu": "A100-40GB", "sharing": ["mig"], "count": 4}],
        "workloads": [
            VISION | {"min_replicas": 1, "slo_quantile": 0.9},
            {"name": "words", "model": "bert", "rate_rps": 40, "slo_ms": 500},
            {"name": "faces", "model": "vgg19", "rate_rps": 60, "slo_ms": 200, "gpus": ["A100-80GB"]},
        ],
        "settings": {
            "max_processes": 2,
            "headroom": 0.1,
            "time_limit_s": 20,
            "gap": 0.001,
            "latency": "percentile",
            "quantile": 0.95,
            "dispatch": "random",
            "process_queues": "own",
        },
        "prices": "ours",
        "price_books": [BOOK],
    }
)

TURNING = Problem.model_validate(
    SHARED.model_dump()
    | {
        "name": "everything-turning",
        "settings": {"slo_fraction": 0.6, "max_processes": 2, "headroom": 0.1, "time_limit_s": 20, "turns": "fixed"},
    }
)
"""What the exact planners refuse: who plans it may take turns, or not."""

ON_CPU = {
    "model": "our-words",
    "cpu": "EPYC-9654",
    "provenance": {"source": "made up", "method": "synthetic"},
    "points": [
        {"cores": n, "batch": 4, "processes": 1, "latency_ms": 200 / n, "throughput_rps": 18 * n, "memory_mib": 900}
        for n in (4, 8, 16)
    ],
}

ON_CORES = Problem.model_validate(
    WAITING.model_dump()
    | {
        "name": "everything-on-cores",
        "profiles": [*OWN, ON_CPU],
        "fleet": [
            CUT,
            {"gpu": "V100-SXM2-16GB", "sharing": ["exclusive"], "count": 2},
            {"cpu": "EPYC-9654", "price_per_hour": 0.7, "nodes": [{"name": "c1", "count": 2}]},
        ],
        "workloads": [
            *(one.model_dump() for one in WAITING.workloads),
            {"name": "small", "model": "our-words", "rate_rps": 90, "slo_ms": 300, "gpus": ["EPYC-9654"]},
            {"name": "either", "model": "our-words", "rate_rps": 25, "slo_ms": 400, "max_replicas": 2},
        ],
    }
)
"""CPUs beside GPUs that are cut or used whole."""

CARRYING = Problem.model_validate(
    WAITING.model_dump()
    | {
        "name": "everything-carrying",
        "settings": WAITING.settings.model_dump() | {"objective": "capacity", "capacity_weights": "solo"},
    }
)
"""Counted GPUs that are to carry most."""

ADJUSTED = Problem.model_validate(
    SHARED.model_dump()
    | {
        "name": "everything-adjusted",
        "settings": SHARED.settings.model_dump() | {"mps_rules": "free", "bda": True},
    }
)
"""Batches and shares under MPS that are chosen anew, which mps_rules that fix them forbid."""

EVERYTHING = (SHARED, ADJUSTED, SPARE, WAITING, CARRYING, ON_CORES)
