"""
How long the page takes for what a person waits for: a pasted table, a problem without a plan, all planners.

    .venv/bin/python tests/benchmarks/page_answers.py [--rows 1000] [--infeasible 2000] [--compared 100] [--repeats 3]

In headless Chromium, each time in a new tab. Prints the seconds from a table being in its dialog to what is said of its
rows, and from taking it to the page being still; from *Solve* with too few GPUs to the ways out, tried and offered; and
from *Compare these* to the last planner's row. Medians and the longest of `--repeats` after a first one that is left
out. Times are this machine's, whatever else runs on it.
"""

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import Browser, Page
from problems.instances import random_problem
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
    parser.add_argument("--infeasible", type=int, default=2000, help="services on a tenth of their GPUs")
    parser.add_argument("--compared", type=int, default=100, help="services of the comparison")
    parser.add_argument("--repeats", type=int, default=3)
    asked = parser.parse_args()
    needs_chromium()
    say_what_it_ran_on(RANDOM)
    with tempfile.TemporaryDirectory() as folder, running_page(folder) as address, running_chromium() as browser:

        def measured(what: str, once: Callable[[Browser, str], list[float]]) -> None:
            times = list(zip(*[once(browser, address) for _ in range(asked.repeats + 1)][1:], strict=True))
            said = "; ".join(f"{statistics.median(own):.2f} s, at worst {max(own):.2f}" for own in times)
            print(f"load {os.getloadavg()[0]:.1f}; {what}: {said}", flush=True)

        measured(f"{asked.rows:,} rows looked at, and taken", lambda *on: pasted_s(*on, asked.rows))
        measured(
            f"{asked.infeasible:,} services without a plan, ways out offered",
            lambda *on: infeasible_s(*on, asked.infeasible),
        )
        measured(f"all planners, {asked.compared:,} services", lambda *on: compared_s(*on, asked.compared))


def pasted_s(browser: Browser, address: str, rows: int) -> list[float]:
    """Returns the seconds until a pasted table is looked at, and until it is the problem's."""
    table = ["service\tmodel\trps\tslo (ms)"]
    table += [f"{one.name}\t{one.model}\t{one.rate_rps:g}\t{one.slo_ms:g}" for one in random_problem(rows).workloads]
    page = opened(browser, address)
    page.get_by_role("button", name="Paste services", exact=True).click()
    cells = page.get_by_role("dialog").get_by_role("textbox", name="Cells")
    cells.fill("\n".join(table))
    began = time.perf_counter()
    cells.press("Control+Enter")
    take = page.get_by_role("dialog").get_by_role("button", name=re.compile(r"^Replace the 8 with [\d,]+ rows?"))
    take.wait_for()
    looked_at = time.perf_counter() - began
    await_stillness(page)
    began = time.perf_counter()
    take.click()
    page.get_by_role("dialog").wait_for(state="detached")
    await_stillness(page)
    taken = time.perf_counter() - began
    page.context.close()
    return [looked_at, taken]


def infeasible_s(browser: Browser, address: str, services: int) -> list[float]:
    """Returns the seconds from *Solve* to ways out of too few GPUs."""
    problem = random_problem(services)
    (entry,) = problem.fleet
    page = with_problem(
        browser, address, problem.model_copy(update={"fleet": (entry.model_copy(update={"count": services // 60}),)})
    )
    began = time.perf_counter()
    page.get_by_role("button", name="Solve", exact=True).click()
    page.get_by_role("button", name=re.compile("^Add [0-9,]+ ")).first.wait_for()
    seconds = time.perf_counter() - began
    page.context.close()
    return [seconds]


def compared_s(browser: Browser, address: str, services: int) -> list[float]:
    """Returns the seconds from *Compare these* until nothing is left to come."""
    page = with_problem(browser, address, random_problem(services))
    page.get_by_role("link", name="Compare", exact=True).click()
    start = page.get_by_role("button", name="Compare these", exact=True)
    start.wait_for()
    await_stillness(page)
    began = time.perf_counter()
    start.click()
    page.get_by_role("button", name="Use its plan", exact=True).wait_for()
    page.get_by_role("button", name="Stop", exact=True).wait_for(state="detached")
    seconds = time.perf_counter() - began
    page.context.close()
    return [seconds]


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
