"""
How the bound of services that may be split over GPUs under MPS rises with time, before it is rounded up to whole GPUs.

    .venv/bin/python tests/benchmarks/dealt_bound.py [--size 30] [--seed 0] [--seconds 10] [--latency percentile]

Services as those of mps_gap.py with `--split`. Prints a row for each turn that raises it: seconds of CPU, and GPUs. How
much a plan of whole GPUs costs more than the last row says how much of a gap is rounding, and how much is open.
"""

import argparse
import sys
import time
from dataclasses import replace
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import numpy as np
from mps_gap import instance
from ran_on import FITTED, say_what_it_ran_on

from sliceplan.solver.exact.dealt_costs.dealing import Dealing
from sliceplan.solver.exact.dual.lagrangian_data import most_to_pay
from sliceplan.solver.exact.dual.lagrangian_dual import best_prices
from sliceplan.solver.exact.fleet.fleet_by_prices import fleet_prices
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.resolve import resolve

NEVER = 1e18


def main() -> None:
    """Raises the bound of one problem and prints how it rises."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--size", type=int, default=30, help="number of services")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=10.0, help="of CPU")
    parser.add_argument("--latency", default="execution", help="what is promised")
    asked = parser.parse_args()
    say_what_it_ran_on(f"services that may be split, {asked.latency}, {asked.seconds:g} s of CPU", profiles=FITTED)
    kind = argparse.Namespace(beside_mig=False, split=True, latency=asked.latency)
    resolved = resolve(instance(asked.size, asked.seed, kind), shipped_profiles())
    usd = resolved.fleet[0].price_per_hour
    begun = time.process_time()
    prices = fleet_prices(resolved, start=None, deadline=NEVER)
    print("| CPU s | GPUs |")
    print("|---:|---:|")
    print(f"| residents alone | {prices.bound / usd:.2f} |")
    enough = np.full((len(resolved.required_rps), len(resolved.mps)), np.inf)
    dealing, greatest = Dealing(resolved, enough), 0.0
    while time.process_time() - begun < asked.seconds and not dealing.is_done:
        dealing.improve(NEVER)
        demands = replace(prices.data.demands, shared=dealing.rates())
        start, most = prices.priced.price, most_to_pay(resolved)
        found = best_prices(demands, prices.data.supply, start=start, enough=most, deadline=NEVER)
        if found.bound > greatest:
            greatest = found.bound
            print(f"| {time.process_time() - begun:.1f} | {greatest / usd:.2f} |", flush=True)


if __name__ == "__main__":
    main()
