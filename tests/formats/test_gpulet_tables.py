"""Public tables of models alone at shares of a GPU."""

import pytest
from problems.gpulets import a100_profiles

from sliceplan.solver.formats.gpulet_tables import read_gpulet_tables
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.performance.interference.solo_tables import SoloTable, alpha

ALONE = "vgg16,1,20,throughput,200,latency,0.005,1\nvgg16,4,20,throughput,400,latency,0.010,1\n"
USE = "vgg16,1,20,mem_util,10,l2_util,20,0\nvgg16,4,20,mem_util,40,l2_util,50,0\n"


def folder_of(tmp_path, alone=ALONE, use=USE):
    (tmp_path / "inference.csv").write_text(alone)
    (tmp_path / "mem_util.csv").write_text(use)
    return tmp_path


def test_the_published_tables_are_complete():
    profiles = a100_profiles()
    assert len(profiles) == 10
    assert {len(profile.points) for profile in profiles} == {42}
    assert all(point.l2_percent is not None for profile in profiles for point in profile.points)


def test_between_measured_batch_sizes_all_is_on_a_straight_line(tmp_path):
    (profile,) = read_gpulet_tables(folder_of(tmp_path))
    table = SoloTable.of(profile)
    measured, between = table.at(4, 20.0), table.at(2, 20.0)
    assert (measured.latency_ms, measured.basis) == (10.0, "measured")
    assert between.latency_ms == pytest.approx(5 + 5 / 3)
    assert (between.l2_percent, between.dram_percent, between.basis) == (30.0, 20.0, "fitted")
    assert alpha(None, between, [measured]) == 1.0


@pytest.mark.parametrize(("batch", "share"), [(5, 20.0), (0, 20.0), (4, 40.0)])
def test_nothing_is_said_outside_of_what_was_measured(tmp_path, batch, share):
    (profile,) = read_gpulet_tables(folder_of(tmp_path))
    assert SoloTable.of(profile).at(batch, share) is None


def test_what_cannot_be_is_left_out_and_named(tmp_path):
    odd = ALONE + "vgg16,8,20,throughput,90000,latency,0.020,1\n"
    (profile,) = read_gpulet_tables(folder_of(tmp_path, odd))
    assert len(profile.points) == 2
    assert "20 % b8: 90000 req/s" in profile.odd_points[0]


@pytest.mark.parametrize("row", ["vgg16,1", "vgg16,x,20,throughput,1,latency,1", "vgg16,1,20,latency,1,throughput,1"])
def test_a_wrong_row_is_named_with_its_line(tmp_path, row):
    with pytest.raises(InputError, match=r"line 3 is .*expected model, batch, share in %, throughput, number, latency"):
        read_gpulet_tables(folder_of(tmp_path, f"{ALONE}{row}\n"))


def test_an_empty_folder_is_said(tmp_path):
    with pytest.raises(InputError, match=r"inference\.csv"):
        read_gpulet_tables(tmp_path)
    with pytest.raises(InputError, match="has no row"):
        read_gpulet_tables(folder_of(tmp_path, ""))
