"""`sliceplan cores`: the table, the report, and what is said of wrong input."""

import json

import pytest
import yaml
from support.command_line import assert_refused, sliceplan

from sliceplan.solver.cores.schedulers.registry import schedulers
from sliceplan.solver.formats.layer_files import read_layer_times
from sliceplan.solver.model.cores_report import CoresReport
from sliceplan.solver.model.errors import InputError

PROVENANCE = {"source": "made up for this test", "method": "none"}


def layer_file(folder, *, ms=((3.0, 1.6, 1.7), (2.0, 1.2, 0.9)), cores=(8, 16, 24), names=("one", "two")):
    layers = [{"name": f"l{i}", "macs": 10 + i, "ms": list(row)} for i, row in enumerate(ms)]
    models = [{"model": name, "cores": list(cores), "layers": layers, "provenance": PROVENANCE} for name in names]
    path = folder / "layers.json"
    path.write_text(json.dumps({"version": 1, "models": models}))
    return path


def versioned_file(folder, *, levels=(1, 2), rows=None, names=("local", "parallel"), alone=False):
    """One layer twice: its local version is faster alone, the parallel one beside others."""
    rows = rows or {"local": [[3.0, 1.6], [9.0, 5.0]], "parallel": [[4.0, 2.0], [5.0, 2.4]]}
    versions = [
        {"name": name, "block_size": 8 - i, "parallelism": 1 + i, "ms": ms}
        for i, (name, ms) in enumerate(zip(names, rows.values(), strict=True))
    ]
    layer = {"name": "l", "macs": 10, "versions": versions}
    if alone:
        layer["ms"] = [3.0, 1.6]
    model = {"model": "one", "cores": [8, 16], "levels": list(levels), "layers": [layer, layer]}
    path = folder / "layers.json"
    path.write_text(json.dumps({"version": 1, "models": [{**model, "provenance": PROVENANCE}]}))
    return path


def test_versions_at_levels_have_their_least_core_times(tmp_path):
    words = ("--slo-ms", "8", "--scheduler", "veltair", "--queries", "30", "--json", "-")
    done = sliceplan("cores", versioned_file(tmp_path), *words)
    assert done.returncode == 0, done.stderr
    (model,) = json.loads(done.stdout)["models"]
    # Each of the two layers takes 8 x 3 core-ms alone, and 16 x 2.4 beside others: there 8 x 5 is dearer.
    assert model["at_levels"] == [{"level": 1, "least_core_ms": 48.0}, {"level": 2, "least_core_ms": 76.8}]
    assert (model["sure_core_ms"], model["expected_core_ms"]) == (76.8, 62.4)
    assert "48.0 at level 1, 76.8 at level 2; 76.8 if each layer meets its slowest level" in done.stderr


def test_what_others_hold_slows_queries_down(tmp_path):
    reports = {}
    for full_level in ("1", "2"):
        words = ("--slo-ms", "20", "--cores", "24", "--full-level", full_level, "--queries", "40", "--json", "-")
        done = sliceplan("cores", versioned_file(tmp_path), *words)
        assert done.returncode == 0, done.stderr
        reports[full_level] = CoresReport.model_validate_json(done.stdout)
    alone, beside = ({one.scheduler: one.rps for one in reports[level].schedulers} for level in ("1", "2"))
    assert set(alone) == set(schedulers())
    assert set(beside) == set(schedulers(under_interference=True))
    assert set(beside) - set(alone) == {"veltair-ac", "veltair-as"}
    assert beside["prema"] == alone["prema"]  # one query at a time meets nobody
    assert beside["model-wise"] < alone["model-wise"]
    assert reports["2"].full_level == 2
    assert "a query meets level 1 to 2 of interference, in proportion to the cores that others hold" in done.stderr
    assert all(rps <= reports["2"].bound_rps for rps in beside.values())


def test_a_level_that_was_not_measured_is_refused(tmp_path):
    done = sliceplan("cores", versioned_file(tmp_path), "--slo-ms", "20", "--full-level", "2.5")
    assert_refused(done, "--full-level: is 2.5; one was measured up to level 2")


def test_versions_that_are_not_needed_are_left_out(tmp_path):
    rows = {"local": [[3.0, 1.6], [9.0, 5.0]], "alike": [[3.1, 1.7], [9.0, 5.2]], "parallel": [[4.0, 2.0], [5.0, 2.4]]}
    path = versioned_file(tmp_path, rows=rows, names=("local", "alike", "parallel"))
    for name in ("chosen.yaml", "chosen.json"):
        done = sliceplan("choose-versions", path, "--slo-ms", "20", "-o", tmp_path / name)
        assert done.returncode == 0, done.stderr
        (model,) = read_layer_times(tmp_path / name)
        assert [version.name for version in model.layers[0].versions] == ["parallel", "local"]
        assert model.provenance.method.endswith("Of all versions those that VELTAIR's Algorithm 1 keeps within 20 ms.")
        assert done.stdout.split()[-7:] == ["one", "0", "2", "0", "0", "0", "3.0"]


def test_times_alone_lead_to_versions_that_are_to_be_measured(tmp_path):
    rows = {"local": [[3.0, 1.6]], "parallel": [[4.0, 2.0]]}
    path = versioned_file(tmp_path, rows=rows, levels=(1,))
    done = sliceplan("choose-versions", path, "--slo-ms", "20", "-o", "-")
    assert done.returncode == 0, done.stderr
    assert [version["name"] for version in yaml.safe_load(done.stdout)["models"][0]["layers"][0]["versions"]] == [
        "parallel",
        "local",
    ]
    assert "one: measure these versions at levels of interference, then choose again" in done.stderr


def test_what_has_no_versions_to_choose_from_is_refused(tmp_path):
    done = sliceplan("choose-versions", layer_file(tmp_path), "--slo-ms", "20", "-o", tmp_path / "chosen.yaml")
    assert_refused(done, "has one time of each layer; expected layers with `versions` to choose from")


def test_every_scheduler_has_a_row_below_the_bound(tmp_path):
    path, report = layer_file(tmp_path), tmp_path / "report.json"
    words = ("--slo-ms", "8", "--slo-ms", "two=12", "--cores", "24", "--queries", "30", "--seeds", "2")
    done = sliceplan("cores", path, *words, "--json", report)
    assert done.returncode == 0, done.stderr
    found = CoresReport.model_validate(json.loads(report.read_text()))
    assert {row.scheduler for row in found.schedulers} == set(schedulers())
    for row in found.schedulers:
        assert row.scheduler in done.stdout
        assert all(rps <= most for rps, most in zip(row.rps_by_seed, found.bound_rps_by_seed, strict=True))
    assert {model.model: model.slo_ms for model in found.models} == {"one": 8, "two": 12}
    assert "one: 1 of 4 steps to more cores were measured to be slower" in done.stderr
    assert "that no greater rate is carried either is assumed" in done.stderr
    assert "one within 8 ms: 8 cores as a whole, 40.0 core-ms a query; proven" in done.stderr


def test_the_report_on_stdout_takes_the_place_of_the_table(tmp_path):
    words = ("--slo-ms", "8", "--model", "one", "--scheduler", "veltair", "--queries", "40", "--json", "-")
    done = sliceplan("cores", layer_file(tmp_path), *words)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["schedulers"]
    assert row["scheduler"] == "veltair"
    assert "-0" not in json.dumps(row["spent"])
    assert "40 Poisson queries in time, 1 seed; " in done.stderr


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("--slo-ms", "x", "--slo-ms", "nan", "--slo-ms", "on=8"),
            ("--slo-ms: is 'x'; expected ms", "--slo-ms: is 'nan'; expected ms", "names 'on'. Did you mean 'one'?"),
        ),
        (("--slo-ms", "one=8"), ("says nothing of two; add two=MS",)),
        (("--slo-ms", "8", "--cores", "4"), ("has 4 cores; the layers of one were measured on 8 and more",)),
        (("--slo-ms", "8", "--scheduler", "prem"), ("is 'prem'. Did you mean 'prema'?",)),
        (("--slo-ms", "8", "--slo-ms", "one=2.4"), ("2.4 ms; the layers of one take 2.5 ms on 24 cores",)),
        (("--slo-ms", "8", "--model", "three"), ("is 'three', not in",)),
    ],
)
def test_wrong_options_are_refused(tmp_path, words, said):
    assert_refused(sliceplan("cores", layer_file(tmp_path), *words), *said)


def test_a_wrong_layer_file_is_refused(tmp_path):
    path = layer_file(tmp_path, cores=(16, 8, 24))
    assert_refused(sliceplan("cores", path, "--slo-ms", "8"), "cores is [16, 8, 24]; expected counts of cores")


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        (
            {"ms": ((3.0, 1.6), (2.0, 1.2, 0.9))},
            "layers[0].ms has 2 times; expected 3, one for each of 8, 16, 24 cores",
        ),
        ({"cores": (16, 8, 24)}, "cores is [16, 8, 24]; expected counts of cores that ascend"),
        ({"names": ("one", "one")}, "models has one more than once"),
        ({"ms": ((3.0, 0.0, 1.0),)}, "models[0].layers[0].ms[1] is 0.0; expected"),
    ],
)
def test_it_is_said_what_is_wrong_in_a_layer_file(tmp_path, changes, said):
    with pytest.raises(InputError) as error:
        read_layer_times(layer_file(tmp_path, **changes))
    assert said in str(error.value)


SQUARE = [[3.0, 1.6], [9.0, 5.0]]


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({"levels": (1.5, 2)}, "levels is [1.5, 2.0]; expected levels that ascend from 1"),
        ({"levels": (1, 3, 2)}, "levels is [1.0, 3.0, 2.0]; expected levels that ascend from 1"),
        ({"levels": (1,)}, "layers[0].versions[0].ms has 2 rows; expected 1, one for each level (1)"),
        (
            {"rows": {"local": SQUARE, "parallel": [[4.0], [5.0, 2.4]]}},
            "layers[0].versions[1].ms[0] has 1 times; expected 2, one for each of 8, 16 cores",
        ),
        ({"names": ("same", "same")}, "layers[0].versions has same more than once"),
        ({"alone": True}, "expected one of ms and versions"),
    ],
)
def test_it_is_said_what_is_wrong_with_versions(tmp_path, changes, said):
    with pytest.raises(InputError) as error:
        read_layer_times(versioned_file(tmp_path, **changes))
    assert said in str(error.value)


def test_times_of_one_level_are_refused_where_there_are_several(tmp_path):
    path = layer_file(tmp_path)
    path.write_text(path.read_text().replace('"cores"', '"levels": [1, 2], "cores"'))
    with pytest.raises(InputError, match=r"layers\[0\] has times of one level; expected versions"):
        read_layer_times(path)


def test_a_layer_of_another_model_is_refused_where_it_stands(tmp_path):
    path = layer_file(tmp_path)
    path.write_text(path.read_text().replace('"name": "l1"', '"name": "l1", "model": "two"', 1))
    assert_refused(sliceplan("cores", path, "--slo-ms", "8"), "models[0].layers[1].model is not a field here")
