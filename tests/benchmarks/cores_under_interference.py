"""
What schedulers carry where queries slow each other down, on synthetic families of versions and levels.

    .venv/bin/python tests/benchmarks/cores_under_interference.py LAYERS --model resnet50 [--queries 1000] [--seeds 2]

LAYERS are layer times with one version, as the folder of the VELTAIR artifact; versions and levels are made up
(tests/problems/layer_versions.py). Prints a row for each family, level beside a full CPU, and limit: queries/s on 64
cores, mean over the seeds, and how many versions of a layer Algorithm 1 keeps.
"""

import argparse
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.layer_versions import FAMILIES, with_versions
from ran_on import say_what_it_ran_on

from sliceplan.solver.cores.levels import levels_of
from sliceplan.solver.cores.qps import Draw, carried_rps
from sliceplan.solver.cores.quotas import quotas_of
from sliceplan.solver.cores.runtimes.timetable import Machine, Timetable
from sliceplan.solver.cores.schedulers.registry import scheduler_named
from sliceplan.solver.cores.version_choice import chosen
from sliceplan.solver.formats.layer_files import read_layer_times

SCHEDULERS = (
    "by-time-left",
    "cpu-static",
    "prema",
    "planaria-like",
    "veltair",
    "veltair-ac",
    "veltair-as",
    "model-wise",
)


def main():
    """Prints the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("layers", type=Path)
    parser.add_argument("--model", default="resnet50")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--full-level", type=float, nargs="+", default=[2.0, 3.0])
    parser.add_argument("--slo-ms", type=float, nargs="+", default=[15, 10])
    arguments = parser.parse_args()
    say_what_it_ran_on(f"{arguments.model} of {arguments.layers.name}", profiles="versions and levels: synthetic")
    (model,) = (one for one in read_layer_times(arguments.layers) if one.model == arguments.model)
    print(f"| family, full level, ms | versions kept | {' | '.join(f'`{name}`' for name in SCHEDULERS)} |")
    print(f"|---|{'---:|' * (1 + len(SCHEDULERS))}")
    for family in FAMILIES:
        for full_level in arguments.full_level:
            for slo_ms in arguments.slo_ms:
                made, choices = chosen(with_versions(model, family), slo_ms)
                levels = levels_of(made)
                tables = [Timetable(quotas_of(levels.alone, slo_ms), levels)]
                kept = sum(len(choice.kept) for choice in choices) / len(choices)
                cells = []
                for name in SCHEDULERS:
                    runtime = scheduler_named(name).start(tables, [1.0], Machine(64, 0.22, full_level))
                    seeds = range(1, arguments.seeds + 1)
                    found = [carried_rps(runtime, Draw(seed, arguments.queries, [1.0])) for seed in seeds]
                    cells.append(f"{sum(found) / len(found):.0f}")
                row = f"`{family}`, {full_level:g}, {slo_ms:g}"
                print(f"| {row} | {kept:.1f} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
