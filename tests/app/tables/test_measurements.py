"""Tables of measurements: columns by their names, units by their figures, and rows as the profiles say them."""

import random
import re
from itertools import product

import pytest

from sliceplan.app.tables.measurements import Reading, cells_of, guessed, points_of, profiles_of
from sliceplan.solver.model.errors import InputError

MS = {"ms": 1.0, "s": 1000.0, "us": 0.001}


def table(unit, per, of, *, header="latency", seed=1, rows=12):
    """Returns a table of made-up measurements as somebody might write them, and what they are."""
    chance = random.Random(seed)
    lines, truth = [f"model,gpu,mig,batch,processes,{header},throughput"], []
    for i in range(rows):
        batch, processes = 2 ** (i % 5) * 2, 2 + i % 2
        ms = 3.0 + 0.4 * batch * chance.uniform(0.9, 1.1)
        rps = 1000 * batch * processes / ms * chance.uniform(0.85, 1.0)
        size = ("1g.10gb", "2g.20gb", "3g.40gb")[i % 3]
        stated = ms / MS[unit] / (batch if per == "request" else 1)
        carried = rps / (processes if of == "one process" else 1)
        lines.append(f"ours,A100-80GB,{size},{batch},{processes},{stated!r},{carried!r}")
        truth.append((size, batch, processes, ms, rps))
    return "\n".join(lines), truth


@pytest.mark.parametrize(
    ("unit", "per", "of"), list(product(("ms", "s", "us"), ("batch", "request"), ("all processes", "one process")))
)
def test_units_are_guessed_from_the_figures(unit, per, of):
    text, truth = table(unit, per, of)
    reading = guessed(cells_of(text, "t"))
    assert (reading.time_unit, reading.time_per, reading.throughput_of) == (unit, per, of)
    found = points_of(cells_of(text, "t"), reading, "t")
    for (model, gpu, point), (size, batch, processes, ms, rps) in zip(found, truth, strict=True):
        assert (model, gpu, point.mig_profile, point.batch, point.processes) == (
            "ours",
            "A100-80GB",
            size,
            batch,
            processes,
        )
        assert point.latency_ms == pytest.approx(ms)
        assert point.throughput_rps == pytest.approx(rps)


@pytest.mark.parametrize(
    ("header", "unit"), [("latency (ms)", "ms"), ("latency_s", "s"), ("Latency [us]", "us"), ("p99 latency ms", "ms")]
)
def test_a_unit_that_a_name_says_is_not_guessed(header, unit):
    text, _ = table(unit, "batch", "all processes", header=header)
    reading = guessed(cells_of(text, "t"))
    assert (reading.columns["latency"], reading.time_unit) == (header, unit)


def test_without_throughputs_short_times_are_seconds_and_throughput_follows():
    cells = cells_of("model;batch;time\nours;4;0,012\nours;8;0,021", "t")
    reading = guessed(cells)
    assert reading.time_unit == "s"
    stated = Reading(reading.columns, "s", gpu="A100-80GB", partition="2g")
    (profile,) = profiles_of(cells, stated, "t")
    assert [(one.mig_profile, one.latency_ms) for one in profile.points] == [("2g.20gb", 12.0), ("2g.20gb", 21.0)]
    assert profile.points[0].throughput_rps == pytest.approx(4 / 0.012)


def test_shares_of_a_gpu_are_percent():
    cells = cells_of("model\tgpu\tshare\tbatch\tlatency (ms)\nours\tT4\t25 %\t1\t9\nours\tT4\twhole\t1\t4", "t")
    (profile,) = profiles_of(cells, guessed(cells), "t")
    assert [one.sm_percent for one in profile.points] == [25.0, 100.0]


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            "ours,A100,1g.10gb,1,4",
            r"row 2 gpu is 'A100'; not in the catalogue. Did you mean 'A100-40GB' or 'A100-80GB'",
        ),
        ("ours,A100-80GB,9g.10gb,1,4", r"row 2 partition is '9g.10gb'; expected one of .*1g.10gb.* or a share"),
        ("ours,A100-80GB,1g.10gb,x,4", "row 2 batch is 'x'; expected a number"),
        ("ours,A100-80GB,1g.10gb,1,4 s", "row 2 latency is '4 s'; this column is in ms: write 4000"),
        ("ours,A100-80GB,1g.10gb,0,4", "row 2 batch "),
        ("ours,A100-80GB,1g.10gb,1,", "row 2 latency is empty"),
    ],
)
def test_what_is_wrong_is_said_by_its_row(row, said):
    cells = cells_of(f"model,gpu,mig,batch,latency (ms)\nours,A100-80GB,1g.10gb,2,5\n{row}", "t")
    with pytest.raises(InputError) as error:
        profiles_of(cells, guessed(cells), "t")
    (finding,) = error.value.findings
    assert re.match(said, f"{finding.path} {finding.message}"), f"{finding.path} {finding.message}"


def test_what_no_column_says_is_asked_for():
    cells = cells_of("batch,latency (ms)\n1,4", "t")
    with pytest.raises(InputError) as error:
        points_of(cells, guessed(cells), "t")
    assert [finding.path for finding in error.value.findings] == ["model", "gpu", "partition"]
