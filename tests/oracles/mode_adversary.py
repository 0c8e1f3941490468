"""
Judges what every planner and every mode says of random problems of each kind, by trying everything (kinds.py).

    PYTHONPATH=tests .venv/bin/python -m oracles.mode_adversary [mig rules mps cpus turns] --problems 2000 [--first 0]

Of each draw all planners are asked, then, on its fleet with counts, the headroom, what to leave out and the most
capacity; what is to be kept free, what services cost, a plan that moves little, and the way to it. What is too large
to try everything is held against the other answers: no plan that holds is better than a bound, or of a problem that is
said to have none. Prints every false claim and every traceback with its seed, and at the end how many there were.
"""

import argparse
import random
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from itertools import product
from math import inf

from oracles.kinds import KINDS
from oracles.modes import MODES, Asked
from sliceplan.solver.model.errors import InputError, NoPlanError, NoTimeError


@dataclass
class Verdict:
    """What was wrong with the answers to one problem, and how many there were."""

    false: list = field(default_factory=list)
    """False claims and tracebacks: (who, what)."""
    answers: Counter = field(default_factory=Counter)


def judged(kind, seed, time_limit_s=3.0, modes=None):
    """Returns the verdict on all answers to one draw of a kind; `modes`: None: all."""
    verdict = Verdict()
    with KINDS[kind].catalogue():
        asked = Asked(KINDS[kind], seed, *KINDS[kind].drawn(seed), time_limit_s)
        for mode in modes or MODES:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("error")
                    for who, ended, wrong in MODES[mode](asked):
                        verdict.answers[f"{who} {ended}"] += 1
                        verdict.false += [(who, one) for one in wrong]
            except InputError as error:
                verdict.answers[f"{mode} refused"] += 1
                if not str(error).strip():
                    verdict.false.append((mode, "refused without a reason"))
            except (NoPlanError, NoTimeError) as error:
                verdict.answers[f"{mode} {type(error).__name__}"] += 1
            except Exception:
                verdict.false.append((mode, traceback.format_exc()))
    return verdict


def main():
    """Prints what was false, and how often each answer came."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kinds", nargs="*", metavar="KIND", help=f"of problems; none: {', '.join(KINDS)}")
    parser.add_argument("--problems", type=int, default=100, help="how many of each kind")
    parser.add_argument("--first", type=int, default=0, help="seed of the first")
    parser.add_argument("--time-limit", type=float, default=3.0, help="seconds for a search")
    parser.add_argument("--mode", action="append", choices=MODES, help="what is asked; repeatable; default: all")
    parser.add_argument(
        "--some", type=int, metavar="N", help="ask only N modes beside all planners, drawn anew each time"
    )
    parser.add_argument("--seconds", type=float, default=inf, help="begin no problem after so many seconds")
    asked = parser.parse_args()
    ends, begun = Counter(), time.monotonic()
    for kind, seed in product(asked.kinds or KINDS, range(asked.first, asked.first + asked.problems)):
        if time.monotonic() > begun + asked.seconds:
            print(f"stopped before {kind} {seed}")
            break
        others = [mode for mode in MODES if mode != "planners"]
        some = asked.some and ["planners", *random.Random(f"modes {seed}").sample(others, asked.some)]
        verdict = judged(kind, seed, asked.time_limit, asked.mode or some)
        ends[f"{kind}: problems"] += 1
        ends[f"{kind}: answers"] += verdict.answers.total()
        ends["false claims and tracebacks"] += len(verdict.false)
        ends.update({f"{kind} {answer}": times for answer, times in verdict.answers.items()})
        for who, what in verdict.false:
            print(f"{kind} {seed} {who}: {what.strip()}", flush=True)
    for what, times in sorted(ends.items()):
        print(f"{times:6} {what}")


if __name__ == "__main__":
    main()
