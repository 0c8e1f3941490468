"""The readers of iGniter's published files: every way in which a file can be wrong."""

import json

import pytest
from problems.igniter_instances import SOLO_TABLES, measured_file, solo_tables

from sliceplan.solver.formats.gpulets import read_gpulets
from sliceplan.solver.formats.igniter import igniter_profiles, read_igniter
from sliceplan.solver.formats.profile_files import read_profiles, write_profiles
from sliceplan.solver.model.errors import InputError


def changed(tmp_path, source, change):
    """Returns a copy of a published file with its sections changed in place."""
    sections = {}
    for line in source.read_text().splitlines():
        for section, fields in json.loads(line).items():
            sections.setdefault(section, {}).update(fields)
    change(sections)
    path = tmp_path / "changed.jsonl"
    path.write_text("".join(json.dumps({name: fields}) + "\n" for name, fields in sections.items()))
    return path


def messages(read, path):
    with pytest.raises(InputError) as caught:
        read(path)
    return [str(finding) for finding in caught.value.findings]


def drop(section, field=None):
    def change(sections):
        if field is None:
            del sections[section]
        else:
            del sections[section][field]

    return change


def put(section, field, value):
    return lambda sections: sections.setdefault(section, {}).update({field: value})


def only_hardware(sections):
    for name in [name for name in sections if name != "hardware"]:
        del sections[name]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("hardware"), "hardware is missing"),
        (drop("hardware", "idlepower"), "hardware.idlepower is missing; expected a number above 0"),
        (drop("ssd", "gpulatency"), "ssd.gpulatency is missing; expected 3 x 3 of numbers above 0"),
        (put("ssd", "gpulatency", [[1, 2], [3, 4]]), "ssd.gpulatency is '[[1, 2], [3, 4]]'"),
        (put("ssd", "kernel", "many"), "ssd.kernel is 'many'"),
        (put("ssd", "kernel", True), "ssd.kernel is 'True'"),
        (put("ssd", "activetime_1", -3), "ssd.activetime_1 is '-3'"),
        (put("hardware", "power", [100.0, 200.0]), "hardware power, frequency and idletime have different lengths"),
        (put("hardware", "frequency", [1530.0] * 5), "hardware of 5 runs with more and more copies 5 keep"),
        (put("ssd", "activetime_2", 1.0), "ssd ssd: gives coefficients that cannot be"),
        (only_hardware, "has no model"),
    ],
)
def test_what_is_wrong_with_a_file_of_measurements_is_said(tmp_path, change, message):
    path = changed(tmp_path, measured_file(), change)
    assert any(message in found for found in messages(igniter_profiles, path)), messages(igniter_profiles, path)


def test_every_line_that_is_no_object_is_named(tmp_path):
    path = tmp_path / "lines.jsonl"
    path.write_text('{"hardware": {"idlepower": 50}}\nno json\n\n{"alexnet": 3}\n[1]\n')
    found = messages(read_igniter, path)
    assert [text.split(" ")[1:3] for text in found] == [["line", "2"], ["line", "4"], ["line", "5"]]


def test_a_missing_file_is_an_input_error(tmp_path):
    assert messages(read_igniter, tmp_path / "none.jsonl")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (drop("interference"), "interference.latency is missing"),
        (put("interference", "latency", [["alexnet", 3]]), "interference.latency[0] is \"['alexnet', 3]\""),
        (put("interference", "latency", []), "0 pairs have solo measurements"),
        (drop("ssd", "dram"), "ssd.dram is missing"),
        (put("ssd", "latency", {"1": {"20": "slow"}}), "expected a latency and a throughput at batch '1'"),
    ],
)
def test_what_is_wrong_with_solo_tables_is_said(tmp_path, change, message):
    solo_tables()  # skips where they are not there
    path = changed(tmp_path, SOLO_TABLES, change)
    assert any(message in found for found in messages(read_gpulets, path)), messages(read_gpulets, path)


def test_corrupt_throughputs_are_left_out_and_named():
    for profile in solo_tables():
        assert len(profile.odd_points) == 2
        assert {point.sm_percent for point in profile.share_points} == {20, 40, 50, 60, 80}
        assert len(profile.points) == 160


def test_imported_profiles_come_back_as_they_were_written(tmp_path):
    profiles = [*igniter_profiles(measured_file())[0], *solo_tables()]
    for name in ("p.yaml", "p.json"):
        write_profiles(profiles, tmp_path / name)
        assert read_profiles(tmp_path / name) == profiles


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [("max_power_w", 400, "has at most 300 W"), ("max_frequency_mhz", 1700, "has at most 1530 MHz")],
)
def test_power_and_frequency_beyond_the_catalogue_are_refused(tmp_path, field, value, message):
    profiles, _ = igniter_profiles(measured_file())
    known = profiles[0].interference
    beyond = known.model_copy(update={"gpu": known.gpu.model_copy(update={field: value})})
    write_profiles([profiles[0].model_copy(update={"interference": beyond})], tmp_path / "p.yaml")
    (found,) = messages(read_profiles, tmp_path / "p.yaml")
    assert f"profiles[0].interference.gpu.{field} is {value}" in found
    assert message in found
