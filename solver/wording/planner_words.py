"""Planners as people call them: whose rules, and of which year; files and commands have the registry's names."""

PLAIN = {
    "exact": "exact (sliceplan)",
    "exact-pulp": "exact, by CBC (sliceplan)",
    "exact-turns": "exact, turns (sliceplan)",
    "best-split": "best split between rules",
    "ffd": "first fit",
    "ffd-interference": "first fit, interference",
    "ffd-interference-least-batch": "first fit, least batches",
    "gpulets": "gpu-lets' rules, 2022",
    "gpulets-ideal": "gpu-lets, full search",
    "gpulets-igniter": "gpu-lets+ of iGniter",
    "gpulets-int": "gpu-lets, interference",
    "gpulets-paper": "gpu-lets as printed, 2021",
    "gslice": "GSLICE+ of iGniter",
    "igniter": "iGniter's rules, 2023",
    "igniter-least-batch": "iGniter, least batches",
    "migserving-greedy": "MIG-serving, capped",
    "migserving-slow": "MIG-serving, slow search",
    "migserving-uncapped": "MIG-serving's rules, 2021",
    "operator-balanced": "NVIDIA's balanced split",
    "paris": "PARIS' rules, 2022",
    "parvagpu": "ParvaGPU's rules, 2024",
    "parvagpu-single": "ParvaGPU without MPS",
    "parvagpu-unoptimized": "ParvaGPU, unoptimised",
    "sbp": "Nexus' packing, 2019",
    "sbp-half": "Nexus' packing, halves",
    "self-tuning": "guided self-tuning, 2022",
    "self-tuning-online": "GSLICE, 2020",
    "timesharing": "gpu-lets, time sharing",
    "whole-gpu": "a GPU for each service",
}
"""Name in the registry -> words, at most MOST_LETTERS, as a phone draws them beside bars."""

MOST_LETTERS = 26


def plain_name(planner: str) -> str:
    """Returns what people call a planner; of one that is not shipped, its name."""
    return PLAIN.get(planner, planner)


def plain_and_own_name(planner: str) -> str:
    """Returns both, as `exact (sliceplan), exact`; where they are the same, that alone."""
    plain = plain_name(planner)
    return planner if plain == planner else f"{plain}: {planner}"
