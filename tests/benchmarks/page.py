"""
How long the page's large pictures take in headless Chromium.

    .venv/bin/python tests/benchmarks/page.py [--gpus 400] [--services 500]

Prints the seconds to compute the picture of a fleet, its size, and the seconds that the browser takes from having it to
having drawn it, the median of five. Times are this machine's, whatever else runs on it.
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from instances import random_problem
from playwright.sync_api import sync_playwright

from sliceplan.app.charts.fleet import fleet_chart
from sliceplan.solver.api import solve

DRAWING = """async () => {
    const figure = JSON.parse(document.getElementById("figure").textContent);
    const began = performance.now();
    await Plotly.newPlot("picture", figure.data, figure.layout, {});
    await new Promise(done => requestAnimationFrame(() => setTimeout(done, 0)));
    return (performance.now() - began) / 1000;
}"""


def main() -> None:
    """Runs all measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gpus", type=int, default=400)
    parser.add_argument("--services", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
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
    print(f"drawn in the browser in {drawn_s(text):.3f} s")


def drawn_s(figure: str) -> float:
    """Returns the seconds that Chromium takes to draw a figure, the median of five pages."""
    from plotly.offline import get_plotlyjs

    chromium = shutil.which("chromium") or shutil.which("chromium-browser")
    if chromium is None:
        sys.exit("no chromium on this machine")
    embedded = figure.replace("</", "<\\/")
    page = (
        f"<!doctype html><script>{get_plotlyjs()}</script><body style='width:1000px'><div id='picture'></div>"
        f"<script id='figure' type='application/json'>{embedded}</script>"
    )
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        file = Path(folder) / "page.html"
        file.write_text(page)
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox", "--disable-gpu"])
        times = []
        for _ in range(5):
            tab = browser.new_page(viewport={"width": 1280, "height": 1400})
            tab.goto(file.as_uri())
            times.append(tab.evaluate(DRAWING))
            tab.screenshot(path=Path(tempfile.gettempdir()) / "fleet.png", full_page=True)
            tab.close()
        browser.close()
    return statistics.median(times)


if __name__ == "__main__":
    main()
