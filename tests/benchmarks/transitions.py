"""
Transitions between random plans: is every service kept at its rate, who is disturbed, and how long does planning take.

    .venv/bin/python tests/benchmarks/transitions.py [--pairs 10000] [--gpus 1000]

Pairs are those of tests/problems/plan_pairs.py: plans of one set of up to 6 services at different rates, by different
planners (parvagpu, whole-gpu, best-split, exact, migserving-greedy, operator-balanced), on A100 by MIG or also whole.
Each pair is planned by both strategies, with and without an idle GPU beside those of both plans, and each transition is
replayed at every cut of its graph; Ctrl-C ends with the pairs so far. The large transition is between exact plans for
services around ParvaGPU's scenarios (plans/parvagpu-s1.yaml to -s6.yaml) before and after their rates changed
(log-normal, sigma 0.3). Profiles are the fitted ones that are shipped. Prints Markdown.
"""

import argparse
import sys
import time
from collections import Counter
from contextlib import suppress
from itertools import count, islice
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.instances import scenario_problem
from problems.plan_pairs import pairs, planned, with_changed_rates
from ran_on import RANDOM, SCENARIOS, say_what_it_ran_on

from sliceplan.solver.api import replan
from sliceplan.solver.transition.planning import plan_transition
from sliceplan.solver.transition.replay import replay
from sliceplan.solver.transition.tenancies import IdleGpus

STRATEGIES = ("least-disturbance", "exchange-and-compact")
A100 = "A100-80GB"
SERVICES_A_GPU = 1.29
"""In exact plans for services around ParvaGPU's scenarios."""


def small(number: int) -> None:
    """Prints what happened over many small pairs."""
    figures: Counter[tuple[str, int, str]] = Counter()
    worse = refuted = done = 0
    with suppress(KeyboardInterrupt):  # prints what was done until then
        for name, old, new in islice(pairs(count(), most_services=6, plans=8), number):
            for spare in (0, 1):
                disturbed = []
                for strategy in STRATEGIES:
                    found = plan_transition(old, new, idle=IdleGpus({A100: spare}), strategy=strategy)
                    one = found.transition
                    if wrong := replay(old, found.assigned, one):
                        refuted += 1
                        print(name, strategy, spare, wrong[0], file=sys.stderr)
                    disturbed.append(len(one.disturbed.services))
                    key = strategy, spare
                    figures[*key, "kept"] += not one.shortfalls
                    figures[*key, "services"] += disturbed[-1]
                    figures[*key, "partitions"] += one.moved
                    figures[*key, "temporary"] += one.temporary
                    figures[*key, "seconds"] += one.estimated_s
                    figures[*key, "proven"] += one.disturbed.proven
                worse += disturbed[0] > disturbed[1]
            done += 1
    print(f"{done} pairs; refuted by the replay: {refuted}; more services disturbed than published: {worse}\n")
    print("| strategy | idle GPUs | rate kept | services disturbed | partitions moved | temporary | estimated |")
    print("|---|---:|---:|---:|---:|---:|---:|")
    for strategy in STRATEGIES:
        for spare in (0, 1):
            of = {name: figures[strategy, spare, name] for name in ("kept", "services", "partitions", "temporary")}
            seconds = figures[strategy, spare, "seconds"] / max(done, 1)
            kept = f"{of['kept']:,} of {done:,}"
            print(
                f"| `{strategy}` | {spare} | {kept} | {of['services']:,} | {of['partitions']:,} | {of['temporary']:,} "
                f"| {seconds:.0f} s |"
            )
    for spare in (0, 1):
        services, partitions = (ratio(*(figures[one, spare, name] for one in STRATEGIES)) for name in MEASURES)
        print(f"\nRatio with {spare} idle: services {services}, partitions {partitions}")
    print(f"\nProven fewest services: {figures[STRATEGIES[0], 1, 'proven']:,} of {done:,}")


MEASURES = ("services", "partitions")


def ratio(one: int, other: int) -> str:
    """Returns how many times the other a number is; of no pairs that differ, nothing."""
    return f"{one / other:.3f}" if other else "-"


def large(gpus: int) -> None:
    """Prints what a transition between large plans takes."""
    before = scenario_problem(round(gpus * SERVICES_A_GPU), 1)
    old, new = planned(before, "exact"), planned(with_changed_rates(before, 2, spread=0.3), "exact")
    for spare in (0, 10):
        for strategy in STRATEGIES:
            started, cpu = time.perf_counter(), time.process_time()
            found = plan_transition(old, new, idle=IdleGpus({A100: spare}), strategy=strategy)
            planned_s, cpu_s = time.perf_counter() - started, time.process_time() - cpu
            started = time.perf_counter()
            wrong = replay(old, found.assigned, found.transition)
            replayed_s = time.perf_counter() - started
            one = found.transition
            print(
                f"{len(old.gpus)} to {len(new.gpus)} GPUs, {spare} idle, {strategy}: planned in {planned_s:.2f} s "
                f"({cpu_s:.2f} s of CPU), "
                f"replayed in {replayed_s:.2f} s ({len(wrong)} mistakes); {one.kept:,} kept, {one.moved:,} moved, "
                f"{one.temporary} temporary, {len(one.disturbed.services)} services disturbed (proven fewest: "
                f"{one.disturbed.proven}), {len(one.shortfalls)} fall short, {len(one.steps):,} steps, "
                f"{one.estimated_s / 60:.0f} min",
                flush=True,
            )


def trades(sizes: list[int]) -> None:
    """Prints how many services move when plans are made anew, and when they start from what runs."""
    print("\n| services | planned anew: cost, moved | replanned: cost, moved | time | $1 a move: cost, moved | time |")
    print("|---:|---:|---:|---:|---:|---:|")
    for size in sizes:
        before = scenario_problem(size, 1)
        running = planned(before, "exact")
        after = with_changed_rates(before, 2, spread=0.3)
        anew = planned(after, "exact")
        cells = []
        for price in (0.0, 1.0):
            started = time.perf_counter()
            plan, report = replan(after, running, move_price=price, time_limit_s=60)
            proof = "" if report.proven else " (not proven)"
            cells.append(f"${plan.cost_per_hour:,.2f}, {len(report.moved)}{proof}")
            cells.append(f"{time.perf_counter() - started:.1f} s")
        disturbed = len(plan_transition(running, anew).transition.disturbed.services)
        print(f"| {size} | ${anew.cost_per_hour:,.2f}, {disturbed} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pairs", type=int, default=10_000)
    parser.add_argument("--gpus", type=int, default=1000)
    parser.add_argument("--replan", type=int, nargs="*", default=[10, 30, 100, 300])
    options = parser.parse_args()
    say_what_it_ran_on(*([SCENARIOS] if options.gpus or options.replan else []), *([RANDOM] if options.pairs else []))
    if options.gpus:
        large(options.gpus)
    if options.replan:
        trades(options.replan)
    if options.pairs:
        small(options.pairs)
