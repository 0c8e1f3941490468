"""What the command line says of files that are no problem: what, where, and what would be right."""

import json

import pytest
from problems.small_problem import GOOD, changed
from support.command_line import assert_refused, sliceplan


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["fleet", 0, "gpu"], "A100-80", "fleet[0].gpu is 'A100-80'; not in the catalogue. Did you mean 'A100-80GB'?"),
        (["fleet", 0, "gpu"], "T4", "has no MIG"),
        (["fleet", 0, "gpu"], "A30-24GB", "fleet[0].price_per_hour is missing"),
        (["fleet", 0, "gpu"], "A100-40GB", "not on A100-40GB"),
        (["fleet", 0, "count"], -1, "fleet[0].count is -1; expected a number of at least 0"),
        (["fleet", 0, "sharing"], ["mps"], "MPS interference coefficients"),
        (
            ["fleet", 0, "sharing"],
            ["slices"],
            "fleet[0].sharing[0] is 'slices'; expected 'exclusive', 'mig', 'mps' or 'cores'",
        ),
        (["fleet", 0, "sharing"], "mig", "fleet[0].sharing is 'mig'; expected a list"),
        (["fleet", 0], "A100-80GB", "fleet[0] is 'A100-80GB'; expected a mapping"),
        (["fleet"], [], "fleet has 0 entries; expected at least 1"),
        (["workloads", 0, "model"], "resnet5", "Did you mean 'resnet50'?"),
        (["workloads", 0, "rate_rps"], 0, "workloads[0].rate_rps is 0; expected a number above 0"),
        (["workloads", 0, "rate_rps"], -5, "workloads[0].rate_rps is -5; expected a number above 0"),
        (["workloads", 0, "rate_rps"], "NaN", "workloads[0].rate_rps is"),
        (["workloads", 0, "slo_ms"], "fast", "workloads[0].slo_ms is 'fast'; expected a valid number"),
        (["workloads", 0, "slo_mss"], 5, "workloads[0].slo_mss is not a field here. Did you mean 'slo_ms'?"),
        (["workloads", 0, "name"], "a b", "workloads[0].name is 'a b'; expected letters"),
        (["workloads", 0, "label"], "", "workloads[0].label is ''; expected at least 1 character\n"),
        (["workloads", 0, "label"], "a" * 81, "expected at most 80 characters"),
        (["workloads", 0, "gpus"], ["H100"], "workloads[0].gpus[0] is 'H100'; not in the fleet"),
        (["workloads", 0, "max_replicas"], 0, "workloads[0].max_replicas is 0"),
        (["workloads"], GOOD["workloads"] * 2, "workloads have the same name: a"),
        (["settings"], {"slo_fraction": 2}, "settings.slo_fraction is 2; expected a number of at most 1"),
        (["version"], 2, "version is 2; expected 1"),
    ],
)
def test_a_wrong_field_is_named_with_its_value_and_what_would_be_right(file, path, value, message):
    assert_refused(sliceplan("solve", file(changed(path, value), "p.json")), "p.json", message)


@pytest.mark.parametrize("value", [".nan", ".inf", "-.inf"])
def test_rates_that_are_no_finite_number_are_refused(file, value):
    text = json.dumps(GOOD).replace("100", value)
    assert_refused(sliceplan("solve", file(text)), "workloads[0].rate_rps")


def test_all_findings_come_at_once(file):
    data = changed(["workloads", 0, "rate_rps"], -1)
    data["fleet"][0]["price_per_hour"] = -2
    data["colour"] = "blue"
    data["workloads"].append({"name": "a", "model": "resnet5", "rate_rps": 1, "slo_ms": 9, "gpus": ["H100"]})
    done = sliceplan("solve", file(data))
    assert_refused(done, "workloads[0].rate_rps", "fleet[0].price_per_hour", "colour is not a field")
    assert_refused(done, "workloads have the same name: a", "workloads[1].model is 'resnet5'", "workloads[1].gpus[0]")
    assert len(done.stderr.splitlines()) == 6


def test_a_name_used_twice_is_reported_once(file):
    done = sliceplan("solve", file(dict(GOOD, workloads=GOOD["workloads"] * 2)))
    assert_refused(done, "workloads have the same name: a")
    assert len(done.stderr.splitlines()) == 1


def test_many_findings_are_cut_and_counted(file):
    data = dict(
        GOOD, workloads=[{"name": f"w{i}", "model": "resnet50", "rate_rps": 0, "slo_ms": 1} for i in range(900)]
    )
    done = sliceplan("solve", file(data))
    assert_refused(done, "and 850 more findings")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("fleet: [", "is not valid YAML"),
        ("", "is empty"),
        ("- 1", "is a list; expected a mapping"),
        ("a: &x 1\nb: *x\n", "alias *x is not accepted"),
        ("name: a\nname: b\n", "the key 'name' stands twice"),
        ("[" * 100_000, "nested deeper than 32 levels"),
        ("a: \x00", "cannot be parsed"),
    ],
)
def test_a_broken_file_is_refused_with_its_place(file, text, message):
    assert_refused(sliceplan("solve", file(text)), "problem.yaml", message)


def test_a_file_of_two_gigabytes_is_refused_at_once(tmp_path):
    path = tmp_path / "big.yaml"
    with path.open("wb") as out:
        out.truncate(2 * 2**30)
    assert_refused(sliceplan("solve", path), "has 2048 MiB; at most 1024 MiB are read")


def test_a_missing_file_a_folder_and_binary_text_are_refused(tmp_path):
    (tmp_path / "b.yaml").write_bytes(b"\xff\xfe\x00")
    assert_refused(sliceplan("solve", tmp_path / "none.yaml"), "cannot be read")
    assert_refused(sliceplan("solve", tmp_path), "is a folder")
    assert_refused(sliceplan("solve", tmp_path / "b.yaml"), "is not UTF-8")
