"""
How many of 1,023 sets of rates on four GPUs each planner of turns schedules, how many can be scheduled at all; scales.

    .venv/bin/python tests/benchmarks/turns.py [--data a100] [--every 1] [--rates 0,800,1600,2400] [--scales]
        [--applications]

By the rules of gpu-lets' own scheduler (`sliceplan scenarios --rules gpulets`). On the public tables of an A100 with a
factor of 1.1 (`a100`), or on a surrogate of the paper's test bed (`rtx`, `rtx-clean`;
tests/problems/gpulets_surrogate.py): both from data that is not shipped (SLICEPLAN_REFERENCE). Prints one row for each
planner (claims; claims that break an SLO; that carry too little; neither), and what the optimum decides. `--scales`:
instead the greatest multiple of three sets of rates that each claims. `--applications`: instead the greatest rate of
each service of the paper's two applications that each claims on the surrogate, Algorithm 1 also without interference.
"""

import argparse
import sys
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from problems.gpulets import a100_services, scenarios
from problems.gpulets_surrogate import surrogate
from problems.instances import REFERENCE
from ran_on import say_what_it_ran_on

from sliceplan.solver.analysis.own_rules import OwnRules, planners_of_turns
from sliceplan.solver.model.scenario_report import Optimum
from sliceplan.solver.planners.gpulets_ideal import GpuletsIdeal
from sliceplan.solver.planners.gpulets_paper import GpuletsPaper
from sliceplan.solver.planners.registry import planners
from sliceplan.solver.what_if.scenarios.facts import Facts

GPUS = 4
RATES = {"a100": "0,800,1600,2400", "rtx": "0,200,400,600", "rtx-clean": "0,200,400,600"}
SCALES = {
    "a100": {
        "equal": ((200, 200, 200, 200, 200), 0.1, 12),
        "long-only": ((0, 0, 400, 400, 400), 0.05, 8.5),
        "short-skew": ((400, 400, 400, 200, 200), 0.05, 8.5),
    },
    "rtx": {
        "equal": ((50, 50, 50, 50, 50), 0.2, 18),
        "long-only": ((0, 0, 100, 100, 100), 0.1, 10),
        "short-skew": ((100, 100, 100, 50, 50), 0.1, 13),
    },
}
SCALES["rtx-clean"] = SCALES["rtx"]


APPLICATIONS = {
    # Equal products of rate and SLO are scheduled in the order of the services, so that it changes what is claimed.
    "game": (("lenet", "resnet50", *["lenet"] * 5), (95,) * 7, 10, 2700),
    "traffic": (("googlenet", "ssd", "vgg16"), (67, 69, 67), 5, 1100),
}
"""Services, their SLOs in ms, the step of their rates and where to end, requests/s of each."""

SLOW = ("gpulets-ideal", "gpulets-ideal-int")


class Literally(GpuletsPaper):
    """Algorithm 1 without interference; only compared here."""

    name = "Algorithm 1 without interference"
    interferes = False


class IdealInt(GpuletsIdeal):
    """gpu-lets' scheduler on all divisions, with interference; only compared here."""

    name = "gpulets-ideal-int"
    interferes = True


def rules_of(data):
    """Returns the planners and what each knows of the services."""

    def services(*, interferes):
        none = (0,) * 5
        if data == "a100":
            return a100_services(none, interferes=interferes)
        return surrogate(none, clean=data == "rtx-clean", interferes=interferes)

    known = {**{name: planners()[name] for name in planners_of_turns()}, IdealInt.name: IdealInt()}
    by_planner = {name: services(interferes=one.interferes) for name, one in known.items()}
    return OwnRules(known, by_planner, services(interferes=False), GPUS)


def print_counts(rules, some, time_limit_s):
    """Schedules and decides, and prints a Markdown table."""
    print("| planner | claims | break an SLO | carry too little | neither | seconds |")
    print("|---|---:|---:|---:|---:|---:|")
    facts = Facts()
    for name in rules.planners:
        begun, counts = time.process_time(), [0, 0, 0, 0]
        for rates in some:
            claim = rules.claim(name, rates)
            if claim is not None:
                found = (1, bool(claim.late), bool(claim.short), claim.holds)
                counts = [n + one for n, one in zip(counts, found, strict=True)]
                if claim.holds and rules.is_within_limits(claim, rates):
                    facts.add(rates, Optimum(what="possible", by=name))
        print(f"| `{name}` | {' | '.join(map(str, counts))} | {time.process_time() - begun:.1f} |", flush=True)
    begun, asked = time.process_time(), []
    decided = {"possible": 0, "impossible": 0, "open": 0}
    for rates in sorted(some, key=sum):
        known = facts.of(rates)
        if known is None:
            own = rules.limited.decided(rates, GPUS, time_limit_s)
            known = Optimum(what=own.what, by=own.by)
            asked.append(own.by)
            facts.add(rates, known)
        decided[known.what] += 1
    print(f"\nThe optimum: {decided['possible']} possible, {decided['impossible']} proven impossible, ", end="")
    print(
        f"{decided['open']} open; {asked.count('program')} by the program, {asked.count('bound')} by the bound, ",
        end="",
    )
    print(f"the others by what follows; {time.process_time() - begun:.1f} s.")


def print_scales(rules, data, time_limit_s):
    """Prints the greatest multiple of each set of rates that each planner claims, the last before a failure if less."""
    names = list(SCALES[data])
    print(f"| planner | {' | '.join(names)} |")
    print("|---|" + "---:|" * len(names))
    for planner in rules.planners:
        cells = []
        for rates, step, most in SCALES[data].values():
            factors = [round(i * step, 9) for i in range(1, round(most / step) + 1)]
            claimed = [rules.claim(planner, [rate * factor for rate in rates]) is not None for factor in factors]
            greatest = max((one for one, is_claimed in zip(factors, claimed, strict=True) if is_claimed), default=0)
            before = factors[claimed.index(False) - 1] if False in claimed and claimed[0] else greatest
            cells.append(f"{greatest:g}" + (f" ({before:g})" if before < greatest else ""))
        print(f"| `{planner}` | {' | '.join(cells)} |", flush=True)
    cells, begun = [], time.process_time()
    for rates, step, most in SCALES[data].values():
        low, high, is_open = 0, round(most / step), False
        while high - low > 1:
            middle = (low + high) // 2
            what = rules.limited.decided([rate * middle * step for rate in rates], GPUS, time_limit_s).what
            low, high = (middle, high) if what == "possible" else (low, middle)
            is_open |= what == "open"
        cells.append(f"{low * step:g}{' at least' if is_open else ''}")
    print(f"| the optimum | {' | '.join(cells)} |\n\nThe optimum took {time.process_time() - begun:.1f} s.")


def print_applications(data):
    """Prints the greatest rate of each service that each planner claims, the last before a failure if that is less."""
    print(f"| planner | {' | '.join(APPLICATIONS)} |\n|---|" + "---:|" * len(APPLICATIONS))
    known = {name: one for name, one in planners().items() if name in planners_of_turns() and name not in SLOW}
    for planner in (*known.values(), Literally()):
        cells = []
        for names, slo_ms, step, most in APPLICATIONS.values():
            own = {
                interferes: surrogate(
                    (0,) * len(names), clean=data == "rtx-clean", interferes=interferes, names=names, slo_ms=slo_ms
                )
                for interferes in (planner.interferes, False)
            }
            rules = OwnRules({planner.name: planner}, {planner.name: own[planner.interferes]}, own[False], GPUS)
            # Of 15 requests/s and less nobody gets anything, which counts as a failure with interference.
            claimed = [
                rate
                for rate in range(4 * step, most, step)
                if rules.claim(planner.name, [rate] * len(names)) is not None
            ]
            greatest = max(claimed, default=0)
            before = next((rate for rate in claimed if rate + step not in claimed), 0)
            cells.append(f"{greatest:,}" + (f" ({before:,})" if before < greatest else ""))
        print(f"| `{planner.name}` | {' | '.join(cells)} |", flush=True)


def main() -> None:
    """Schedules and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", choices=RATES, default="a100")
    parser.add_argument("--every", type=int, default=1, help="only every so manieth set of rates")
    parser.add_argument("--rates", help="rates of each service")
    parser.add_argument("--scales", action="store_true", help="scales, not counts")
    parser.add_argument("--applications", action="store_true", help="game and traffic on the surrogate, not counts")
    parser.add_argument("--time-limit", type=float, default=60, help="seconds for each decision of the optimum")
    arguments = parser.parse_args()
    if arguments.applications:
        if arguments.data == "a100":
            parser.error("--applications are of --data rtx and rtx-clean: the A100's tables have other models")
        say_what_it_ran_on(f"{arguments.data}, {GPUS} GPUs", profiles=f"profiles: surrogate ({REFERENCE.name})")
        print_applications(arguments.data)
        return
    steps = tuple(map(int, (arguments.rates or RATES[arguments.data]).split(",")))
    some = list(scenarios(steps))[:: arguments.every]
    say_what_it_ran_on(
        f"{arguments.data}, {len(some)} sets of rates", profiles=f"profiles: public tables ({REFERENCE.name})"
    )
    rules = rules_of(arguments.data)
    if arguments.scales:
        print_scales(rules, arguments.data, arguments.time_limit)
    else:
        print_counts(rules, some, arguments.time_limit)


if __name__ == "__main__":
    main()
