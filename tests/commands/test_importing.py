"""The commands that make profiles: of published measurements, and estimates for a GPU that nobody measured."""

import json

import pytest
from problems.instances import REFERENCE, ROOT, problem_of
from support.command_line import assert_refused, sliceplan
from support.needs import PUBLISHED, skip_without
from typer.testing import CliRunner

from sliceplan.solver.cli import app
from sliceplan.solver.formats import parvagpu
from sliceplan.solver.formats.profile_files import read_profiles, shipped_profiles
from sliceplan.solver.model.errors import Finding, InputError
from sliceplan.solver.performance import estimating, fitting

IGNITER = ROOT / "plans" / "igniter.yaml"


def test_import_profile_reads_the_whole_folder_and_solves_the_published_scenario(tmp_path):
    folder = REFERENCE / "parvagpu" / "prof_data"
    if not folder.is_dir():
        skip_without(PUBLISHED, f"the published measurements are not in {folder}")
    path = tmp_path / "measured.yaml"
    done = sliceplan("import-profile", "parvagpu", folder, "-o", path)
    assert done.returncode == 0, done.stderr
    assert "11 profiles, measured" in done.stderr
    done = sliceplan("solve", ROOT / "plans" / "parvagpu-s6.yaml", "--profiles", path)
    assert json.loads(done.stdout)["gpus_used"] == 16
    assert sliceplan("profiles", "--profiles", path).stdout.count("measured") == 11


def test_import_profile_of_a_wrong_folder_writes_nothing(tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "m.csv").write_text("Mig instance,Batch size\n1,2\n")
    done = sliceplan("import-profile", "parvagpu", tmp_path / "in", "-o", tmp_path / "out.yaml")
    assert_refused(done, "m.csv")
    assert not (tmp_path / "out.yaml").exists()


def test_import_veltair_makes_a_profile_that_a_plan_takes(tmp_path):
    folder, path, problem = tmp_path / "in", tmp_path / "whole.yaml", tmp_path / "problem.yaml"
    folder.mkdir()
    (folder / "small_layer_us.txt").write_text("3000,2000\n900,1000\n")
    (folder / "small_layers.txt").write_text("GEMM,10-20-30\nGEMM,10-20-30\n")
    done = sliceplan("import-profile", "veltair", folder, "-o", path)
    assert done.returncode == 0, done.stderr
    assert "1 profiles, measured" in done.stderr
    fleet = [{"cpu": "Threadripper-3990X", "price_per_hour": 0.5}]
    workloads = [{"name": "one", "model": "small", "rate_rps": 200, "slo_ms": 7}]
    problem.write_text(json.dumps({"version": 1, "name": "p", "fleet": fleet, "workloads": workloads}))
    (cpu,) = json.loads(sliceplan("solve", problem, "--profiles", path).stdout)["gpus"]
    assert (cpu["gpu"], [one["cores"] for one in cpu["partitions"]]) == ("Threadripper-3990X", [16])


def test_import_igniter_fits_and_reports_the_residual_of_every_point(tmp_path):
    source = REFERENCE / "igniter" / "v100_profile.jsonl"
    if not source.is_file():
        skip_without(PUBLISHED, f"the published measurements are not in {source}")
    done = sliceplan("import-profile", "igniter", source, "-o", tmp_path / "v100.yaml")
    assert done.returncode == 0, done.stderr
    rows = [line.split() for line in done.stderr.splitlines()]
    assert sum(row[:3] == ["ssd", "active", "ms"] for row in rows) == 9
    assert all(len(line.rstrip()) <= 80 for line in done.stderr.splitlines() if not line.startswith(str(tmp_path)))
    assert "fitted" in done.stderr.splitlines()[-1]
    assert "T4" in sliceplan("profiles", "--profiles", tmp_path / "v100.yaml").stdout
    refused = sliceplan("import-profile", "igniter", source, "--fit", "-o", tmp_path / "x.yaml")
    assert_refused(refused, "--fit", "is for parvagpu")


def test_import_gpulets_names_what_it_leaves_out(tmp_path):
    source = REFERENCE / "igniter" / "v100_gpulet_profile.jsonl"
    if not source.is_file():
        skip_without(PUBLISHED, f"the published solo tables are not in {source}")
    done = sliceplan("import-profile", "gpulets", source, "-o", tmp_path / "solo.yaml")
    assert done.returncode == 0, done.stderr
    assert done.stderr.count("left out\n") == 8
    assert "750 pairs" in done.stderr
    compared = sliceplan("compare", IGNITER, "--planner", "gpulets-igniter", "--profiles", tmp_path / "solo.yaml")
    assert "3 miss, +7%" in compared.stdout


def test_estimated_profiles_say_so_wherever_they_are_shown(tmp_path):
    done = sliceplan("estimate-profile", "L4", "--from", "V100-SXM2-16GB", "-o", tmp_path / "l4.yaml")
    assert done.returncode == 0, done.stderr
    assert "nothing was measured on L4" in done.stderr
    shown = sliceplan("profiles", "--profiles", tmp_path / "l4.yaml").stdout
    assert [line.split()[3] for line in shown.splitlines() if " L4 " in line] == ["estimated"] * 4
    service = {"model": "resnet50", "rate_rps": 100, "slo_ms": 200}
    path = tmp_path / "p.json"
    path.write_text(problem_of([service], fleet=[{"gpu": "L4", "sharing": ["mps"]}]).model_dump_json())
    solved = sliceplan("solve", path, "--profiles", tmp_path / "l4.yaml")
    assert solved.returncode == 0, solved.stderr
    assert "resnet50 on L4 is estimated from V100-SXM2-16GB" in solved.stderr
    assert json.loads(solved.stdout)["gpus"][0]["partitions"][0]["serves"][0]["basis"] == "estimated"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("L5", "--from", "V100-SXM2-16GB"), "GPU: L5 is not in the catalogue. Known: "),
        (("L4", "--from", "V100"), "--from: V100 is not in the catalogue"),
        (("L4", "--from", "T4"), "has no measured profile"),
    ],
)
def test_an_estimate_from_or_for_the_wrong_gpu_is_refused(tmp_path, arguments, message):
    assert_refused(sliceplan("estimate-profile", *arguments, "-o", tmp_path / "x.yaml"), message)
    assert not (tmp_path / "x.yaml").exists()


def run(*arguments):
    return CliRunner().invoke(app, [*map(str, arguments)])


def test_fitted_curves_are_written_of_all_models_or_what_has_none_is_named(monkeypatch, tmp_path):
    first, second = [one for one in shipped_profiles() if one.gpu == "A100-80GB"][:2]
    monkeypatch.setattr(parvagpu, "read_parvagpu", lambda _path: [first, second])
    monkeypatch.setattr(fitting, "fit_profile", lambda profile: profile)
    words = ("import-profile", "parvagpu", tmp_path / "in", "--fit", "-o", tmp_path / "out.yaml")
    assert run(*words).exit_code == 0
    assert [one.model for one in read_profiles(tmp_path / "out.yaml")] == [first.model, second.model]

    def fails(profile):
        if profile is second:
            raise ValueError("has too few points")
        return profile

    (tmp_path / "out.yaml").unlink()
    monkeypatch.setattr(fitting, "fit_profile", fails)
    assert str(run(*words).exception) == f"{tmp_path / 'in'}: {second.model} has too few points"
    assert list(tmp_path.iterdir()) == []


def test_what_cannot_be_estimated_is_left_out_and_said_or_refused_where_nothing_is_left(monkeypatch, tmp_path):
    known = [one for one in shipped_profiles() if one.gpu == "A100-80GB" and one.quality != "estimated"]
    kept = known[0]

    def estimated(profile, *_):
        if profile.model == kept.model:
            return profile
        raise InputError([Finding("profile", profile.model, "has no times")])

    monkeypatch.setattr(estimating, "estimated", estimated)
    words = ("estimate-profile", "H100-80GB-SXM", "--from", "A100-80GB", "-o", tmp_path / "out.yaml")
    done = run(*words, "--margin", "0.25")
    assert done.exit_code == 0
    said, *left_out = done.stderr.splitlines()
    path = tmp_path / "out.yaml"
    added = "25% added to the times; nothing was measured on H100-80GB-SXM."
    assert said == f"{path}: 1 profiles, estimated from A100-80GB, {added}"
    assert left_out
    assert all(line.startswith("left out: profile: ") for line in left_out)
    assert "added to the times" not in run(*words).stderr
    path.unlink()
    monkeypatch.setattr(
        estimating, "estimated", lambda profile, *_: estimated(profile.model_copy(update={"model": "x"}))
    )
    assert "profile: x has no times" in str(run(*words).exception)
    assert not path.exists()
