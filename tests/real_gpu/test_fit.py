"""What was measured on an H200: the shipped profiles are what the fit makes of it, and predict what ran there."""

import csv
import re
from pathlib import Path

import numpy as np
import pytest
import yaml
from problems.instances import ROOT
from real_gpu.fit import LEFT_OUT, fitted, read_runs

from sliceplan.solver.formats.profile_files import shipped_profiles
from sliceplan.solver.performance.interference.igniter import IgniterModel

HERE = Path(__file__).parent
RUNS, CACHE_USE = HERE / "h200-runs.jsonl", HERE / "h200-cache-use.csv"
H200 = "H200-141GB"
PROFILES = {one.model: one.interference for one in shipped_profiles() if one.gpu == H200}


def predicted_ms(residents):
    """Returns the latencies of residents, each (model, batch, percent), that the product predicts for one GPU."""
    known = [PROFILES[model] for model, _, _ in residents]
    model = IgniterModel.of(known[0].gpu, [one.model for one in known])
    _, batch, percent = zip(*residents, strict=True)
    prediction = model.predict(np.arange(len(known))[None], np.array([batch]), np.array([percent], dtype=float))
    return prediction.latency_ms[0].tolist()


def numbers(value):
    """Returns all numbers of a profile in their order."""
    if isinstance(value, dict | list):
        return [x for one in (value.values() if isinstance(value, dict) else value) for x in numbers(one)]
    return [value] if isinstance(value, int | float) else []


@pytest.fixture(scope="module")
def made():
    return fitted(RUNS, CACHE_USE, gpu_type=H200, date="2026-11-27")


def test_the_shipped_profiles_are_what_the_fit_makes_of_the_runs(made):
    (file,) = (ROOT / "profiles" / "models").glob("h200-*.yaml")
    shipped = yaml.safe_load(file.read_text())["profiles"]
    for ours, theirs in zip(made[0], shipped, strict=True):
        assert (ours["model"], ours["provenance"]) == (theirs["model"], theirs["provenance"])
        assert numbers(ours) == pytest.approx(numbers(theirs), rel=1e-4, abs=1e-4)


def test_the_product_predicts_mixes_as_the_fit_says_and_far_better_than_without_neighbours():
    """The fit's error is worked out anew, by the product's own model, from every mix that was measured."""
    _, _, mixes = read_runs(RUNS)
    errors, without = [], []
    for run in mixes:
        residents = [(one.model, one.batch, one.percent) for one in run.residents]
        for one, predicted, resident in zip(run.residents, predicted_ms(residents), residents, strict=True):
            errors.append(abs(predicted / one.ms - 1))
            without.append(abs(predicted_ms([resident])[0] / one.ms - 1))
    stated = PROFILES["resnet50"].errors["beside neighbours ms"]
    assert len(errors) == stated.points
    assert float(np.median(errors)) == pytest.approx(stated.median, abs=2e-4)
    assert float(np.quantile(errors, 0.95)) == pytest.approx(stated.p95, abs=2e-4)
    assert np.median(without) > 3 * np.median(errors)
    assert np.quantile(without, 0.95) > 2 * np.quantile(errors, 0.95)


def test_mixes_that_the_fit_did_not_see_are_off_by_what_the_documentation_says(made):
    _, unseen = made
    _, _, mixes = read_runs(RUNS)
    assert len(unseen) == sum(len(run.residents) for run in mixes[::LEFT_OUT])
    off = np.abs(unseen - 1)
    text = (ROOT / "docs" / "explanation" / "on-a-gpu.md").read_text()
    (said,) = re.findall(
        r"off by\s+([\d.]+) % in the median, ([\d.]+) % in the 95th\s+percentile and ([\d.]+) % at most", text
    )
    figures = (np.median(off), np.quantile(off, 0.95), off.max())
    assert said == tuple(f"{100 * figure:.1f}" for figure in figures)


def test_what_plans_said_of_batches_is_what_the_shipped_profiles_predict():
    """Batches were timed in four plans, one of them made with longer times."""
    by_plan = {}
    for row in csv.DictReader((HERE / "h200-traffic.csv").read_text().splitlines()):
        by_plan.setdefault(row["plan"], []).append(row)
    assert len(by_plan) == 4
    for plan, rows in by_plan.items():
        assert [int(row["sms"]) for row in rows] == [round(132 * float(row["percent_planned"]) / 100) for row in rows]
        if "longer" not in plan:
            found = predicted_ms([(row["model"], int(row["batch"]), 100 * int(row["sms"]) / 132) for row in rows])
            # The coefficients were rounded a little differently when these plans were made.
            assert found == pytest.approx([float(row["predicted_ms"]) for row in rows], rel=5e-3)
