"""Planners as people call them: what they do, and whose rules that are; files have the names of the registry."""

PLAIN = {
    "exact": "exact search",
    "exact-pulp": "exact search, other solver",
    "exact-turns": "exact search, with turns",
    "best-split": "best split between rules",
    "ffd": "first fit",
    "ffd-interference": "first fit, with slowdown",
    "ffd-interference-least-batch": "first fit, least batches",
    "gpulets": "one or two shares a GPU",
    "gpulets-ideal": "two shares, all divisions",
    "gpulets-igniter": "two services a GPU",
    "gpulets-int": "two shares, with slowdown",
    "gpulets-paper": "two shares, as printed",
    "gslice": "each tunes its own share",
    "igniter": "least slowdown first",
    "igniter-least-batch": "least slowdown and batch",
    "migserving-greedy": "best cut first, no excess",
    "migserving-slow": "evolving cuts",
    "migserving-uncapped": "best cut first",
    "operator-balanced": "one cut for every GPU",
    "paris": "sizes by batch size",
    "parvagpu": "best sizes, then repacked",
    "parvagpu-single": "best sizes, no MPS",
    "parvagpu-unoptimized": "best sizes, no repacking",
    "sbp": "turns on whole GPUs",
    "sbp-half": "turns on half GPUs",
    "self-tuning": "guided self-tuning",
    "self-tuning-online": "self-tuning as it runs",
    "timesharing": "turns, without division",
    "whole-gpu": "whole GPUs per service",
}
"""Name in the registry -> what it does, in at most MOST_LETTERS, as a phone draws them beside bars."""

RULES_OF = {
    "exact": "sliceplan",
    "exact-pulp": "sliceplan",
    "exact-turns": "sliceplan",
    "best-split": "three published ones",
    "ffd": "iGniter's FFD+, 2023",
    "ffd-interference": "iGniter's FFD++, 2023",
    "ffd-interference-least-batch": "after iGniter's FFD++",
    "gpulets": "gpu-lets, 2022",
    "gpulets-ideal": "gpu-lets, 2022",
    "gpulets-igniter": "iGniter's gpu-lets+, 2023",
    "gpulets-int": "gpu-lets, 2022",
    "gpulets-paper": "gpu-lets' preprint, 2021",
    "gslice": "iGniter's GSLICE+, 2023",
    "igniter": "iGniter, 2023",
    "igniter-least-batch": "after iGniter",
    "migserving-greedy": "MIG-serving, 2021",
    "migserving-slow": "MIG-serving, 2021",
    "migserving-uncapped": "MIG-serving, 2021",
    "operator-balanced": "NVIDIA's GPU operator",
    "paris": "PARIS, 2022",
    "parvagpu": "ParvaGPU, 2024",
    "parvagpu-single": "ParvaGPU, 2024",
    "parvagpu-unoptimized": "ParvaGPU, 2024",
    "sbp": "Nexus, 2019",
    "sbp-half": "Nexus, in gpu-lets, 2022",
    "self-tuning": "gpu-lets' source, 2022",
    "self-tuning-online": "GSLICE, in gpu-lets, 2022",
    "timesharing": "gpu-lets' source, 2022",
    "whole-gpu": "common practice",
}
"""Name in the registry -> who published what it does, and when."""

MOST_LETTERS = 26


def plain_name(planner: str) -> str:
    """Returns what people call a planner; of one that is not shipped, its name."""
    return PLAIN.get(planner, planner)


def plain_and_own_name(planner: str) -> str:
    """Returns what it does, whose rules that are and its own name, as `first fit (iGniter's FFD+, 2023): ffd`."""
    plain = plain_name(planner)
    return planner if plain == planner else f"{plain} ({RULES_OF[planner]}): {planner}"
