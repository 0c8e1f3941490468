"""
How long the page takes for what a person waits for: a pasted table, a problem without a plan, all planners.

    .venv/bin/python tests/benchmarks/page_answers.py [--rows 1000] [--infeasible 2000] [--compared 100] [--repeats 3]

In headless Chromium, each time in a new tab. Prints the seconds from a table being in its dialog to what is said of its
rows, and from taking it to the page being still; from *Solve* with too few GPUs to the ways out, tried and offered; and
from *Compare* to the last planner's row. Of `--repeats` after a first one that is left out, the least wall time, the
median, and the least CPU time of server, workers and browser together. Wall times are this machine's, whatever else
runs on it; the least is nearest to those of a machine that does nothing else.
"""

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import Browser, Page
from problems.instances import random_problem
from processor_time import cpu_of_descendants_s
from ran_on import RANDOM, needs_chromium, say_what_it_ran_on
from support.browser_walk import await_stillness
from support.chromium import running_chromium
from support.page_server import running_page

from sliceplan.solver.formats.problem_files import dump_problem
from sliceplan.solver.model.problem import Problem

LONGEST_MS = 120_000


def main() -> None:
    """Runs all measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1000, help="services of the pasted table")
    parser.add_argument("--infeasible", type=int, default=2000, help="services on a thirtieth of their GPUs")
    parser.add_argument("--compared", type=int, default=100, help="services of the comparison")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    needs_chromium()
    say_what_it_ran_on(RANDOM)
    with tempfile.TemporaryDirectory() as folder, running_page(folder) as address, running_chromium() as browser:

        def measured(what: str, once: Callable[[Browser, str], list[Took]]) -> None:
            times = list(zip(*[once(browser, address) for _ in range(asked.repeats + 1)][1:], strict=True))
            print(f"load {os.getloadavg()[0]:.1f}; {what}: {'; '.join(map(shown, times))}", flush=True)

        measured(f"{asked.rows:,} rows looked at, and taken", lambda *on: pasted_s(*on, asked.rows))
        measured(
            f"{asked.infeasible:,} services without a plan, ways out offered",
            lambda *on: infeasible_s(*on, asked.infeasible),
        )
        measured(f"all planners, {asked.compared:,} services", lambda *on: compared_s(*on, asked.compared))


@dataclass(frozen=True)
class Took:
    """What one wait took."""

    wall_s: float
    cpu_s: float
    """Of all processes that this one has begun: server, workers and browser."""


class Stopwatch:
    """Runs from when it is made."""

    def __init__(self) -> None:
        self.began = (time.perf_counter(), cpu_of_descendants_s())

    def took(self) -> Took:
        """Returns what was taken until now."""
        return Took(time.perf_counter() - self.began[0], cpu_of_descendants_s() - self.began[1])


def shown(times: Sequence[Took]) -> str:
    """Returns the least and the median of some waits."""
    walls, cpus = [one.wall_s for one in times], [one.cpu_s for one in times]
    return f"least {min(walls):.2f} s (CPU {min(cpus):.2f} s), median {statistics.median(walls):.2f} s"


def pasted_s(browser: Browser, address: str, rows: int) -> list[Took]:
    """Returns what a pasted table takes until it is looked at, and until it is the problem's."""
    table = ["service\tmodel\trps\tslo (ms)"]
    table += [f"{one.name}\t{one.model}\t{one.rate_rps:g}\t{one.slo_ms:g}" for one in random_problem(rows, 1).workloads]
    page = opened(browser, address)
    page.get_by_role("button", name="Paste services", exact=True).click()
    cells = page.get_by_role("dialog").get_by_role("textbox", name="Cells")
    cells.fill("\n".join(table))
    watch = Stopwatch()
    cells.press("Control+Enter")
    take = page.get_by_role("dialog").get_by_role("button", name=re.compile(r"^Replace the 8 with [\d,]+ rows?"))
    take.wait_for()
    looked_at = watch.took()
    await_stillness(page)
    watch = Stopwatch()
    take.click()
    page.get_by_role("dialog").wait_for(state="detached")
    await_stillness(page)
    taken = watch.took()
    page.context.close()
    return [looked_at, taken]


def infeasible_s(browser: Browser, address: str, services: int) -> list[Took]:
    """Returns what it takes from *Solve* to ways out of too few GPUs."""
    problem = random_problem(services, 1)
    (entry,) = problem.fleet
    page = with_problem(
        browser, address, problem.model_copy(update={"fleet": (entry.model_copy(update={"count": services // 60}),)})
    )
    watch = Stopwatch()
    page.get_by_role("button", name="Solve", exact=True).click()
    page.get_by_role("button", name=re.compile("^Add [0-9,]+ ")).first.wait_for()
    taken = watch.took()
    page.context.close()
    return [taken]


def compared_s(browser: Browser, address: str, services: int) -> list[Took]:
    """Returns what it takes from *Compare* until nothing is left to come."""
    page = with_problem(browser, address, random_problem(services, 1))
    page.get_by_role("link", name="Compare", exact=True).click()
    page.get_by_role("heading", name="Compare", level=1).wait_for()
    start = page.get_by_role("button", name="Compare", exact=True)
    page.get_by_role("button", name="Use its plan", exact=True).wait_for()  # of the first look, which was not asked for
    await_stillness(page)
    watch = Stopwatch()
    start.click()
    page.get_by_role("button", name="Use its plan", exact=True).wait_for(state="detached")
    page.get_by_role("button", name="Use its plan", exact=True).wait_for()
    taken = watch.took()
    page.context.close()
    return [taken]


def with_problem(browser: Browser, address: str, problem: Problem) -> Page:
    """Returns the page in a new tab with a problem of one's own."""
    page = opened(browser, address)
    file = {"name": "own.yaml", "mimeType": "text/yaml", "buffer": dump_problem(problem).encode()}
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)
    page.get_by_test_id("stSidebar").get_by_text("random-").wait_for()
    await_stillness(page)
    return page


def opened(browser: Browser, address: str) -> Page:
    """Returns the screen of workloads in a new tab with an empty cache."""
    page = browser.new_context(viewport={"width": 1280, "height": 1400}).new_page()
    page.set_default_timeout(LONGEST_MS)
    page.goto(f"{address}/workloads")
    page.get_by_role("button", name="Solve", exact=True).wait_for()
    await_stillness(page)
    return page


if __name__ == "__main__":
    main()
