"""
How many A100s services need that take turns, how many at least, and how many without turns.

    .venv/bin/python tests/benchmarks/many_turns.py [--sizes 100 1000] [--rates 1 50] [--seeds 3] [--seconds 60]
        [--latency execution] [--turns fixed] [--sharing mig] [--loss] [--more 5 0.5] [--only-turns]

Rates log-uniform between two requests/s. On MIG instances services of the shipped models with SLOs of 120 to 500 ms; on
shares under MPS the models of the public tables of an A100, which are not shipped (SLICEPLAN_REFERENCE), with SLOs of
40 to 200 ms, and nothing without turns, as then nobody plans such shares; with --sharing igniter four models on V100s
under MPS that slow each other by iGniter's model, with the same SLOs. With --loss any GPU may fail, with --more so
many services may need so much more of their rate: partitions are kept free for it, with turns and without. Prints a row
for each problem; seconds are of the processor.
"""

import argparse
import math
import random
import sys
from functools import partial
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from planned import planned
from problems.gpulets import MODELS as ON_SHARES
from problems.gpulets import a100_profiles
from problems.instances import MODELS, REFERENCE, problem_of
from ran_on import RANDOM, say_what_it_ran_on

from sliceplan.solver.api import solve

BY_IGNITER = ("alexnet", "resnet50", "vgg19", "ssd")


def services(count, seed, low, high, *, sharing, **settings):
    """Returns a problem; equal services with and without turns."""
    draw = random.Random(seed)
    models, slo_ms, entry = {
        "mig": (MODELS, (120, 500), {"gpu": "A100-80GB", "sharing": ["mig"]}),
        "mps": (ON_SHARES, (40, 200), {"gpu": "A100-80GB", "sharing": ["mps"]}),
        "igniter": (BY_IGNITER, (40, 200), {"gpu": "V100-SXM2-16GB", "sharing": ["mps"]}),
    }[sharing]
    workloads = [
        {
            "model": draw.choice(models),
            "rate_rps": round(math.exp(draw.uniform(math.log(low), math.log(high))), 3),
            "slo_ms": round(draw.uniform(*slo_ms), 1),
        }
        for _ in range(count)
    ]
    return problem_of(workloads, fleet=[entry], name=f"turns-{count}-{seed}", **settings)


def main() -> None:
    """Plans and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", type=int, nargs="+", default=[100, 1000])
    parser.add_argument("--rates", type=float, nargs=2, default=[1, 50])
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=60, help="time limit of each plan")
    parser.add_argument("--latency", choices=["execution", "percentile"], default="execution")
    parser.add_argument("--turns", choices=["fixed", "any"], default="fixed")
    parser.add_argument("--sharing", choices=["mig", "mps", "igniter"], default="mig")
    parser.add_argument("--loss", action="store_true", help="keep partitions free for a GPU that fails")
    parser.add_argument("--more", type=float, nargs=2, default=(0, 0), help="services, and by which part of their rate")
    parser.add_argument("--only-turns", action="store_true", help="do not plan without turns")
    given = parser.parse_args()
    free = {"spare_gpu_loss": given.loss, "spare_services": int(given.more[0]), "spare_rate": given.more[1]}
    on_shares = given.sharing == "mps"
    if on_shares:
        say_what_it_ran_on("random services of five models", profiles=f"profiles: public tables ({REFERENCE.name})")
    else:
        say_what_it_ran_on(RANDOM)
    print(
        "| services | drawn | GPUs | at least | above | s CPU | without turns |\n|---:|---:|---:|---:|---:|---:|---:|"
    )
    for count in given.sizes:
        for seed in range(1, given.seeds + 1):
            drawn = partial(services, count, seed, *given.rates, sharing=given.sharing, latency=given.latency, **free)
            known = {"profiles": a100_profiles() if on_shares else None, "time_limit_s": given.seconds}
            plan, least, took = planned(drawn(turns=given.turns), "exact-turns", **known)
            alone = "" if on_shares or given.only_turns else solve(drawn(turns="none"), "exact", **known).gpus_used
            above = "none" if plan.gap is None else f"{plan.gap:.1%}"
            print(
                f"| {count:,} | {seed} | {plan.gpus_used} | {least} | {above} | {took:.1f} | {alone} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
