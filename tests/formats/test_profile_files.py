"""Files of profiles: written and read again unchanged, and what is refused."""

from pathlib import Path

import pytest

from sliceplan.solver.formats.profile_files import read_profiles, shipped_profiles, write_profiles
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.fit_error import FitError
from sliceplan.solver.model.profile import MeasuredPoint, Profile, Provenance, SaturatingCurve

PROVENANCE = Provenance(source="a bench: 'quoted', é", licence=None, method="measured: twice", date="2025-01-01")


def measured(model: str = "yes") -> Profile:
    points = tuple(
        MeasuredPoint(mig_profile="1g.10gb", batch=batch, processes=1, latency_ms=0.1 * batch, throughput_rps=1e-7)
        for batch in (1, 2)
    )
    return Profile(model=model, gpu="A100-80GB", provenance=PROVENANCE, points=points)


def fitted(model: str = "1e3") -> Profile:
    error = FitError(points=3, median=0.01, p95=0.02, max=0.3)
    curve = SaturatingCurve(
        mig_profile="4g.24gb",
        processes=3,
        max_batch=4,
        floor_ms=0,
        per_item_ms=1e-05,
        exponent=0.95,
        sharpness=3,
        error=error,
    )
    odd = ("7g.80gb b4 p3: measured 65.0 ms, fitted 51.2 ms",)
    return Profile(model=model, gpu="A30-24GB", provenance=PROVENANCE, curves=(curve,), error=error, odd_points=odd)


@pytest.mark.parametrize("name", ["out.yaml", "out.yml", "out.json"])
def test_what_is_written_is_read_again_unchanged(tmp_path: Path, name: str) -> None:
    profiles = [measured(), fitted()]
    write_profiles(profiles, tmp_path / name)
    assert read_profiles(tmp_path / name) == profiles


def test_the_same_profiles_give_the_same_bytes_and_leave_nothing_beside_the_file(tmp_path: Path) -> None:
    for name in ("a.yaml", "b.yaml", "b.yaml"):
        write_profiles([measured(), fitted()], tmp_path / name)
    assert (tmp_path / "a.yaml").read_bytes() == (tmp_path / "b.yaml").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.yaml", "b.yaml"]


def test_every_curve_and_point_stands_on_one_line(tmp_path: Path) -> None:
    write_profiles([measured(), fitted()], tmp_path / "out.yaml")
    lines = (tmp_path / "out.yaml").read_text("utf-8").splitlines()
    assert sum("{mig_profile: " in line and line.endswith("}") for line in lines) == 3


def test_a_folder_is_read_in_the_order_of_names(tmp_path: Path) -> None:
    write_profiles([fitted("b")], tmp_path / "2.json")
    write_profiles([measured("a")], tmp_path / "1.yaml")
    (tmp_path / "notes.txt").write_text("not a profile")
    assert [profile.model for profile in read_profiles(tmp_path)] == ["a", "b"]


def test_the_findings_of_all_files_of_a_folder_are_told_at_once(tmp_path: Path) -> None:
    (tmp_path / "1.yaml").write_text("version: 2\nprofiles: []\n")
    (tmp_path / "2.json").write_text("{")
    with pytest.raises(InputError) as caught:
        read_profiles(tmp_path)
    assert [(Path(found.source).name, found.path) for found in caught.value.findings] == [
        ("1.yaml", "version"),
        ("1.yaml", "profiles"),
        ("2.json", "line 1, column 2"),
    ]


def test_a_folder_without_profiles_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="holds no file of profiles"):
        read_profiles(tmp_path)


def test_a_missing_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be read"):
        read_profiles(tmp_path / "absent.yaml")


def test_a_file_that_cannot_be_written_is_told_and_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "taken.yaml").mkdir()
    for target in (tmp_path / "absent" / "out.yaml", tmp_path / "taken.yaml"):
        with pytest.raises(InputError, match="cannot be written"):
            write_profiles([measured()], target)
    assert [path.name for path in tmp_path.iterdir()] == ["taken.yaml"]


def test_a_file_without_profiles_is_not_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="at least one"):
        write_profiles([], tmp_path / "out.yaml")


def test_the_shipped_profiles_hold_fits_only_and_are_a_list_of_ones_own() -> None:
    first = shipped_profiles()
    first.clear()
    profiles = shipped_profiles()
    assert profiles
    assert all(profile.quality in ("fitted", "estimated") for profile in profiles)
    assert all(profile.error or (profile.interference and profile.interference.errors) for profile in profiles)
    assert not any(profile.points for profile in profiles)
    keys = [(profile.model, profile.gpu) for profile in profiles]
    assert len(set(keys)) == len(keys)
