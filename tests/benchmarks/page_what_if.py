"""
How long a what-if on the page takes: from a moved slider to the new cost and picture, in headless Chromium.

    .venv/bin/python tests/benchmarks/page_what_if.py [--services 1000] [--moves 8] [--points 1000]

Prints for each moved slider when the new cost and the new picture are there, the processor time that a re-plan and the
other parts of a move take, and when the first points of a sweep over 100 services are drawn. Times are this machine's,
whatever else runs on it.
"""

import argparse
import os
import pickle
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import TimeoutError, expect
from problems.instances import random_problem
from processor_time import cpu_of_descendants_s
from ran_on import RANDOM, needs_chromium, say_what_it_ran_on
from support.browser_walk import go, press
from support.chromium import running_chromium
from support.page_server import running_page

from sliceplan.app.charts.layouts import layout_chart
from sliceplan.solver import api
from sliceplan.solver.differences.plans import moves, places
from sliceplan.solver.formats.problem_files import write_problem
from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.metrics.layouts import layouts
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.what_if.changes import applied

WAIT_MS = 180_000
"""On a busy machine, too, something comes in the end."""

WARM_MS = 10_000
"""Until all workers of a new server have loaded the solvers."""

SERVER, WORKERS = "sliceplan.app.server", "sliceplan.solver.workers.child"
"""What stands in their command lines."""

WATCH = """
() => {
  const seen = {cost: null, bars: null};
  const state = () => ({
    cost: document.querySelector('[data-testid="stMetricValue"]')?.textContent,
    bars: [...document.querySelectorAll('.js-plotly-plot .bars path')].map(one => one.getAttribute('d')).join(),
  });
  const before = state();
  window.moved = performance.now();
  window.seen = seen;
  const look = () => {
    const now = state();
    for (const what of ['cost', 'bars'])
      if (seen[what] === null && now[what] && now[what] !== before[what])
        seen[what] = performance.now() - window.moved;
    if (seen.cost === null || seen.bars === null) requestAnimationFrame(look);
  };
  look();
}
"""

WATCH_POINTS = """
() => {
  window.drawn = null;
  addEventListener('click', () => { window.pressed = performance.now(); }, {capture: true, once: true});
  const look = () => {
    if (document.querySelector('.js-plotly-plot .scatterlayer .point')) window.drawn = performance.now();
    else requestAnimationFrame(look);
  };
  look();
}
"""


def main() -> None:
    """Runs all measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--moves", type=int, default=8)
    parser.add_argument("--points", type=int, default=1000)
    arguments = parser.parse_args()
    needs_chromium()
    say_what_it_ran_on(f"50, {arguments.services:,} and 100 {RANDOM}")
    sizes = sorted({50, arguments.services})
    for services in sizes:
        compute(services, arguments.moves)
    parts(arguments.services)
    with (
        tempfile.TemporaryDirectory() as folder,
        running_page(folder) as address,
        running_chromium() as browser,
    ):
        for services in sizes:
            slider(browser, address, Path(folder), services, arguments.moves)
        sweep(browser, address, Path(folder), arguments.points)


def compute(services: int, moves: int) -> None:
    """Prints what a re-plan from the last plan's prices takes in one process."""
    base = random_problem(services, 1)
    plan = api.solve(base, profiles=shipped_profiles())
    wall, cpu = [], []
    for move in range(moves):
        changed = applied(base, WhatIf(rate=1.05 + 0.05 * move))
        begun, used = time.perf_counter(), time.process_time()
        plan = api.solve(changed, profiles=shipped_profiles(), start=plan)
        wall.append(time.perf_counter() - begun)
        cpu.append(time.process_time() - used)
    print(f"{services:,} services: re-plan {shown(wall)}; processor time {shown(cpu)}; {loaded()}", flush=True)


def parts(services: int) -> None:
    """Prints the processor time of what else a move takes in Python, each the least of seven."""
    base = random_problem(services, 1)
    old, changed = api.solve(base, profiles=shipped_profiles()), applied(base, WhatIf(rate=1.3))
    new = api.solve(changed, profiles=shipped_profiles(), start=old)
    before, ran = layouts(old), places(old)
    for what, work in {
        "the changed problem": lambda: applied(base, WhatIf(rate=1.31)),
        "the problem to a worker": lambda: pickle.loads(pickle.dumps(changed)),
        "the plan back": lambda: pickle.loads(pickle.dumps(new)),
        "the picture": lambda: layout_chart(before, layouts(new)),
        "what moves": lambda: moves(ran, places(new)),
    }.items():
        used = []
        for _ in range(7):
            begun = time.process_time()
            work()
            used.append(time.process_time() - begun)
        print(f"{services:,} services: {what} {1000 * min(used):.1f} ms of processor time", flush=True)


def slider(browser, address: str, folder: Path, services: int, moves: int) -> None:
    """Prints how long after a click on the slider the new cost and the new picture are there."""
    page = opened(browser, address, folder, services)
    press(page, "Solve")
    expect(page.get_by_text(re.compile(r"GPUs?, \$")).first).to_be_visible(timeout=WAIT_MS)
    go(page, "What-if")
    thumb = page.get_by_role("slider", name="Every rate")
    expect(thumb).to_be_visible(timeout=WAIT_MS)
    track = page.get_by_test_id("stSlider").first.bounding_box()
    knob = thumb.bounding_box()
    times: dict[str, list[float]] = {"cost": [], "bars": []}
    page.wait_for_timeout(WARM_MS)
    used = [cpu_of_descendants_s(command) for command in (SERVER, WORKERS)]
    for move in range(moves):
        page.wait_for_timeout(2000)
        page.evaluate(WATCH)
        at = 0.3 + 0.03 * move
        page.mouse.click(track["x"] + at * track["width"], knob["y"] + knob["height"] / 2)
        try:
            page.wait_for_function("() => window.seen.cost !== null && window.seen.bars !== null", timeout=WAIT_MS)
        except TimeoutError:  # few services can cost the same at another rate
            print(f"{services:,} services: cost or picture did not change in {WAIT_MS / 1000:g} s", flush=True)
        for what, found in page.evaluate("() => window.seen").items():
            times[what] += [] if found is None else [found / 1000]
    used = [cpu_of_descendants_s(command) - before for command, before in zip((SERVER, WORKERS), used, strict=True)]
    print(
        f"{services:,} services: processor time of a move {1000 * used[0] / moves:.0f} ms of the server, "
        f"{1000 * used[1] / moves:.0f} ms of its workers"
    )
    print(f"{services:,} services in Chromium: cost {shown(times['cost'])}; picture {shown(times['bars'])}; {loaded()}")
    page.close()


def sweep(browser, address: str, folder: Path, points: int) -> None:
    """Prints how long after the click the first points of a sweep over 100 services are drawn."""
    page = opened(browser, address, folder, 100)
    go(page, "What-if")
    page.get_by_role("radio", name="Sweep").click()
    field = page.get_by_label("Step", exact=True)
    field.fill(repr(1.5 / (points - 1)))
    field.press("Enter")
    expect(page.get_by_text(f"{points:,} points")).to_be_visible(timeout=WAIT_MS)
    page.wait_for_timeout(1000)
    page.evaluate(WATCH_POINTS)
    page.get_by_role("button", name="Sweep", exact=True).click()
    page.wait_for_function("() => window.drawn !== null", timeout=WAIT_MS)
    seconds = page.evaluate("() => window.drawn - window.pressed") / 1000
    print(f"first points of {points:,} over 100 services drawn {seconds:.2f} s after the click; {loaded()}")
    press(page, "Stop and keep the best so far")
    page.close()


def opened(browser, address: str, folder: Path, services: int):
    """Opens the page with a random problem of so many services."""
    path = folder / f"{services}.json"
    problem = random_problem(services, 1)
    write_problem(problem, path)
    page = browser.new_page(viewport={"width": 1280, "height": 1400})
    page.goto(f"{address}/workloads")
    expect(page.get_by_role("button", name="Solve", exact=True)).to_be_enabled(timeout=WAIT_MS)
    page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(path)
    expect(page.get_by_test_id("stSidebar").get_by_text(problem.name, exact=True)).to_be_visible(timeout=WAIT_MS)
    return page


def shown(times: list[float]) -> str:
    """Returns the median and the worst of some times."""
    return f"median {1000 * statistics.median(times):.0f} ms, worst {1000 * max(times):.0f} ms" if times else "the same"


def loaded() -> str:
    """Returns what else runs on this machine."""
    return f"load {os.getloadavg()[0]:.1f}"


if __name__ == "__main__":
    main()
