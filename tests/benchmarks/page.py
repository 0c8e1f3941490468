"""
How long the page's large pictures take in headless Chromium.

    .venv/bin/python tests/benchmarks/page.py [--gpus 400] [--services 500] [--repeats 5] [--plans 5]

Prints the seconds from opening the page to its title and to the solved demo's picture, or to the tables of the screen
Workloads, with the CPU time of server and browser; those of a newcomer's four steps to a plan of two services,
those to compute the picture of a fleet, its size, the seconds that the browser takes from having it to having drawn it,
and those from a click on *Plan* to the picture of the whole plan on the page; medians of `--repeats` and of `--plans`.
Times are this machine's, whatever else runs on it.
"""

import argparse
import os
import re
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from playwright.sync_api import CDPSession
from problems.instances import random_problem
from processor_time import cpu_of_descendants_s
from ran_on import RANDOM, needs_chromium, say_what_it_ran_on
from support.chromium import running_chromium
from support.page_server import running_page

from sliceplan.app.charts.alike_fleet import alike, alike_chart
from sliceplan.app.charts.fleet import fleet_chart
from sliceplan.app.charts.fleet_blocks import blocks_of
from sliceplan.app.charts.gpu_bars import MOST_ROWS
from sliceplan.solver.api import solve
from sliceplan.solver.formats.problem_files import dump_problem

DRAWING = """async () => {
    const figure = JSON.parse(document.getElementById("figure").textContent);
    const began = performance.now();
    await Plotly.newPlot("picture", figure.data, figure.layout, {});
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    return (performance.now() - began) / 1000;
}"""

TITLE = "() => document.querySelector('h1') !== null"

DEMO_DRAWN = "() => document.querySelectorAll('.js-plotly-plot .bars .point').length >= 12"

TABLES = """() => document.querySelectorAll('[data-testid="stDataFrame"] canvas').length >= 2"""


def main() -> None:
    """Runs all measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=400)
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--repeats", type=int, default=5, help="how often each is measured, after the first time")
    parser.add_argument("--plans", type=int, default=5, help="how often somebody's first plan is measured; 0: not")
    arguments = parser.parse_args()
    needs_chromium()
    say_what_it_ran_on(f"{arguments.services} {RANDOM}")
    # The page's server starts a worker a core: one server for all that is measured on it.
    with tempfile.TemporaryDirectory() as folder, running_page(folder) as address:
        measure(arguments, address)


def measure(arguments: argparse.Namespace, address: str) -> None:
    """Prints what each takes on a server that just began to listen."""
    start, tables = first_paint_s(address, arguments.repeats)
    print(
        f"load {os.getloadavg()[0]:.1f}; seconds from opening the page to its title and to the solved demo's picture:"
    )
    print(f"the first to open it {start[0][0]:.2f} and {start[0][1]:.2f} (CPU {start[0][2]:.2f});", end=" ")
    print(f"the next {arguments.repeats}: {least_and_median(start[1:])}")
    print(f"from opening the screen Workloads to its title and to both tables: {least_and_median(tables)}")
    if arguments.plans:
        print(
            f"load {os.getloadavg()[0]:.1f}; from opening the page to the plan of two pasted services, four steps:",
            end=" ",
        )
        print(f"{first_plan_s(address, arguments.plans):.2f} s")
    problem = random_problem(arguments.services, arguments.seed)
    plan = solve(problem)
    # The most finely cut ones, as the figure to reach is one of partitions.
    gpus = sorted(plan.gpus, key=lambda gpu: -len(gpu.partitions))[: arguments.gpus]
    partitions = sum(len(gpu.partitions) for gpu in gpus)
    print(f"load {os.getloadavg()[0]:.1f}; {arguments.services} services; {len(gpus)} GPUs, {partitions} partitions")
    began = time.perf_counter()
    figure = fleet_chart(plan, problem, gpus)
    computed = time.perf_counter()
    text = figure.to_json()
    print(f"figure {computed - began:.3f} s, as JSON {time.perf_counter() - computed:.3f} s, {len(text) / 1e6:.2f} MB")
    wall, processor = drawn_s(text, arguments.repeats)
    print(f"drawn in the browser in {wall:.3f} s, {processor:.3f} s of processor time")
    alone = len(blocks_of(plan, problem))
    blocks = alone if plan.gpus_used <= MOST_ROWS else len(alike_chart(plan, problem, alike(plan.gpus)).data[0].x)
    seconds = on_the_page_s(address, dump_problem(problem), plan.gpus_used, blocks, arguments.repeats)
    print(
        f"{plan.gpus_used} GPUs, {alone} blocks, those alike together, on the page: {seconds:.3f} s from the click to "
        "the picture"
    )


def drawn_s(figure: str, repeats: int) -> tuple[float, float]:
    """
    Returns the seconds that Chromium takes to draw a figure, and its main thread's processor time; medians.

    The second does not grow with what else the machine does.
    """
    from plotly.offline import get_plotlyjs

    embedded = figure.replace("</", "<\\/")
    page = (
        f"<!doctype html><script>{get_plotlyjs()}</script><body style='width:1000px'><div id='picture'></div>"
        f"<script id='figure' type='application/json'>{embedded}</script>"
    )
    walls, processors = [], []
    with tempfile.TemporaryDirectory() as folder, running_chromium() as browser:
        file = Path(folder) / "page.html"
        file.write_text(page)
        for _ in range(repeats):
            tab = browser.new_page(viewport={"width": 1280, "height": 1400})
            client = tab.context.new_cdp_session(tab)
            client.send("Performance.enable", {"timeDomain": "threadTicks"})
            tab.goto(file.as_uri())
            before = busy_s(client)
            walls.append(tab.evaluate(DRAWING))
            processors.append(busy_s(client) - before)
            tab.close()
    return statistics.median(walls), statistics.median(processors)


def least_and_median(seconds: list[tuple[float, float, float]]) -> str:
    """Returns the least and the median of two waits, and the least CPU time until the second."""
    *waits, processor = zip(*seconds, strict=True)
    least, median = (" and ".join(f"{of(wait):.2f}" for wait in waits) for of in (min, statistics.median))
    return f"at least {least} (CPU {min(processor):.2f}), median {median}"


def first_paint_s(
    address: str, repeats: int
) -> tuple[list[tuple[float, float, float]], list[tuple[float, float, float]]]:
    """
    Returns seconds from opening the page to its title and to the demo's picture, then to the tables of Workloads.

    With each the CPU seconds of server and browser. Each visit has an empty browser cache. The first of the first list
    is the first at all on a server that just began to listen; each list has `repeats` more.
    """
    found: tuple[list[tuple[float, float, float]], ...] = ([], [])
    with running_chromium() as browser:
        visits = [("", DEMO_DRAWN, found[0])] * (repeats + 1) + [("/workloads", TABLES, found[1])] * repeats
        for path, what, seconds in visits:
            tab = browser.new_context(viewport={"width": 1280, "height": 1400}).new_page()
            before = cpu_of_descendants_s()
            tab.goto(f"{address}{path}", wait_until="commit")
            times = []
            for awaited in (TITLE, what):
                tab.wait_for_function(awaited, polling="raf", timeout=60_000)
                times.append(tab.evaluate("() => performance.now() / 1000"))
            seconds.append((times[0], times[1], cpu_of_descendants_s() - before))
            tab.wait_for_timeout(1500)
            tab.context.close()
    return found[0], found[1]


def first_plan_s(address: str, repeats: int) -> float:
    """Returns the seconds from opening the page to the plan of two pasted services, the median; people take longer."""
    cells = "service\tmodel\trps\tslo (ms)\nsearch\tresnet50\t120\t200\nphotos\tvgg16\t80\t250"
    seconds = []
    with running_chromium() as browser:
        for _ in range(repeats + 1):
            tab = browser.new_context(viewport={"width": 1280, "height": 1400}).new_page()
            began = time.perf_counter()
            tab.goto(address)
            tab.get_by_role("button", name="Plan my services").click()
            box = tab.get_by_role("dialog").get_by_role("textbox", name="Rows from a spreadsheet")
            box.fill(cells)
            box.press("Control+Enter")
            tab.get_by_role("button", name="Plan 2 services").click()
            tab.get_by_role("heading", name=re.compile(r"\d+ GPUs?, \$")).wait_for(timeout=60_000)
            seconds.append(time.perf_counter() - began)
            tab.context.close()
    # The first one may also wait for the workers.
    return statistics.median(seconds[1:])


def busy_s(client: CDPSession) -> float:
    """Returns the processor time of a tab's main thread so far, seconds."""
    metrics = client.send("Performance.getMetrics")["metrics"]
    return next(float(one["value"]) for one in metrics if one["name"] == "TaskDuration")


def on_the_page_s(address: str, problem: str, gpus: int, blocks: int, repeats: int) -> float:
    """Returns the seconds from a click on the screen's link to its picture, the median; the plan is there."""
    with running_chromium() as browser:
        page = browser.new_page(viewport={"width": 1280, "height": 1400})
        page.set_default_timeout(120_000)
        page.goto(f"{address}/workloads")
        file = {"name": "large.yaml", "mimeType": "text/yaml", "buffer": problem.encode()}
        page.get_by_test_id("stFileUploaderDropzoneInput").set_input_files(file)
        page.get_by_test_id("stSidebar").get_by_text("random-").wait_for()
        page.get_by_role("button", name="Solve", exact=True).click()
        page.get_by_test_id("stSidebar").get_by_text(re.compile(rf"^{gpus} GPUs?, ")).wait_for()
        times = []
        for _ in range(repeats + 1):
            began = time.perf_counter()
            page.get_by_role("link", name="Plan", exact=True).click()
            drawn = f"() => document.querySelectorAll('.trace.bars .point').length >= {blocks}"
            page.wait_for_function(drawn, polling="raf")
            times.append(time.perf_counter() - began)
            page.get_by_role("link", name="Compare", exact=True).click()
            page.get_by_role("heading", name="Compare", level=1).wait_for()
            page.wait_for_timeout(1000)
    # The first one also loads the drawing library.
    return statistics.median(times[1:])


if __name__ == "__main__":
    main()
