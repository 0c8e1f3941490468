"""
How the time of each planner grows with the number of workloads.

    .venv/bin/python tests/benchmarks/growth.py [--family mig] [--most 1000] [--seeds 3] [--plot growth.svg]

Families of instances, random but seeded, unless said otherwise:

    mig         A100-80GB cut by MIG; models and SLOs as in ParvaGPU's scenarios' ranges, rates log-normal
    mps         V100 shared by MPS; all workloads different, around those of iGniter's table 3, one replica each
    mps-table   V100 shared by MPS; the 12 workloads of iGniter's table 3 in turn, under its rules (not random)

Profiles are the fitted ones that are shipped. gpu-lets' planner also needs iGniter's published solo tables, and is left
out where they are not there.

Prints one row for each planner and size: median time, GPUs, gap to the proven bound. `--plot` draws the times with
headless Chromium. A planner that took longer than the time limit allows twice over is left out of larger sizes.
Times are this machine's.
"""

import argparse
import math
import statistics
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.igniter_instances import SOLO_TABLES, random_mps_problem, table_3
from problems.instances import random_problem
from ran_on import FITTED, RANDOM, needs_chromium, say_what_it_ran_on

from sliceplan.solver.api import compare, planners_for
from sliceplan.solver.formats.gpulets import read_gpulets
from sliceplan.solver.formats.profile_files import shipped_profiles

SIZES = (10, 30, 100, 300, 1000, 3000, 10_000)


def repeated_table(count, _):
    """Returns the 12 workloads of table 3 in turn, the same for every seed."""
    problem = table_3(math.ceil(count / 12), mps_rules="igniter")
    return problem.model_copy(update={"workloads": problem.workloads[:count]})


SERVICES = {
    "mig": RANDOM,
    "mps": "random services around iGniter's table 3 (tests/problems/igniter_instances.py)",
    "mps-table": "the services of iGniter's table 3 in turn (tests/problems/igniter_instances.py)",
}
"""Of each family, for what is said first."""

FAMILIES = {"mig": random_problem, "mps": random_mps_problem, "mps-table": repeated_table}


def main() -> None:
    """Runs the sizes up to the one asked for and prints a Markdown table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--family", choices=FAMILIES, default="mig", help="kind of instances")
    parser.add_argument("--most", type=int, default=300, help="largest number of workloads")
    parser.add_argument("--seeds", type=int, default=3, help="instances of each size")
    parser.add_argument("--time-limit", type=float, default=60.0, help="seconds for a solver")
    parser.add_argument("--planner", action="append", help="planner to run; repeatable; default: all")
    parser.add_argument("--plot", type=Path, help="SVG file to draw the times into")
    arguments = parser.parse_args()
    if arguments.plot:
        needs_chromium()
    tables = read_gpulets(SOLO_TABLES) if SOLO_TABLES.is_file() else []
    profiles = [*shipped_profiles(), *tables]
    planners = arguments.planner or planners_for(FAMILIES[arguments.family](10, 0))
    if tables:
        known = f"{FITTED}, and iGniter's published solo tables ({SOLO_TABLES})"
    else:
        known = f"{FITTED}; without gpulets-igniter, whose solo tables are not in {SOLO_TABLES}"
        planners = [planner for planner in planners if planner != "gpulets-igniter"]
    say_what_it_ran_on(SERVICES[arguments.family], profiles=known if arguments.family != "mig" else FITTED)
    print("| workloads | planner | time (median) | GPUs | worst gap |")
    print("|---:|---|---:|---:|---:|")
    times: dict[str, dict[int, float]] = defaultdict(dict)
    for size in (size for size in SIZES if size <= arguments.most):
        rows: dict[str, list[tuple[float, int, float | None]]] = {}
        for seed in range(arguments.seeds):
            problem = FAMILIES[arguments.family](size, seed)
            comparison = compare(problem, planners, profiles=profiles, time_limit_s=arguments.time_limit)
            for plan in comparison.plans:
                row = (plan.runtime_s, plan.gpus_used, comparison.gap_to_bound(plan))
                rows.setdefault(plan.planner, []).append(row)
        for planner, runs in rows.items():
            gaps = [gap for _, _, gap in runs]
            worst = "-" if None in gaps else f"{max(gap or 0.0 for gap in gaps):.1%}"
            times[planner][size] = statistics.median(time_s for time_s, _, _ in runs)
            print(f"| {size} | {planner} | {times[planner][size]:.3f} s | {runs[0][1]} | {worst} |", flush=True)
        planners = [planner for planner in planners if times[planner][size] <= 2 * arguments.time_limit]
    if arguments.plot:
        draw_times(times, f"seconds, family {arguments.family}", arguments.plot, SIZES)


def draw_times(times: dict[str, dict[int, float]], title: str, path: Path, sizes: Sequence[int]) -> None:
    """Draws time over size, both logarithmic, one line a planner."""
    import urllib.parse

    import plotly.graph_objects as go
    from support.chromium import running_chromium

    from sliceplan.app.charts.colours import PALETTE

    figure = go.Figure()
    for (planner, by_size), colour in zip(times.items(), PALETTE * 2, strict=False):
        figure.add_scatter(
            x=list(by_size), y=list(by_size.values()), name=planner, mode="lines+markers", line={"color": colour}
        )
    figure.update_layout(
        template="plotly_white",
        xaxis={"type": "log", "title": "workloads", "tickvals": list(sizes)},
        yaxis={"type": "log", "title": title, "exponentformat": "power"},
        width=900,
        height=500,
    )
    with running_chromium() as browser:
        page = browser.new_page()
        page.set_content(figure.to_html(include_plotlyjs=True, div_id="plot"))
        page.wait_for_selector("#plot .main-svg")
        image = page.evaluate("Plotly.toImage('plot', {format: 'svg'})")
    path.write_text(urllib.parse.unquote(image.split(",", 1)[1]), encoding="utf-8")


if __name__ == "__main__":
    main()
