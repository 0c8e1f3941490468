"""The curve in an actor's file, on the page too: what it tells is what was written, and other files are refused."""

import numpy as np
import pytest

from sliceplan.app.charts.training_curve import training_chart
from sliceplan.solver.inss.learning.arrays_file import read_arrays, write_arrays
from sliceplan.solver.inss.learning.training_curve import read_training_curve
from sliceplan.solver.inss.shipped_problem import shipped_actor
from sliceplan.solver.model.errors import InputError


def test_the_picture_shows_every_evaluation_beside_the_exact_plans():
    record, _ = read_arrays(shipped_actor(), "an actor")
    curve = read_training_curve(shipped_actor())
    assert (curve.problem, curve.episodes) == (record["problem"], record["episodes"])
    reward, late, exact = training_chart(curve).data
    assert list(reward.x) == [one["episode"] for one in record["curve"]]
    assert list(reward.y) == [one["reward"] for one in record["curve"]]
    assert list(late.y) == [100 * one["late_share"] for one in record["curve"]]
    assert set(exact.y) == {record["exact"]["reward"]}


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"kind": "a checkpoint"}, "mine.npz: is 'a checkpoint', version 1; expected"),
        ({"curve": [{"episode": 1}]}, "mine.npz: is damaged"),
        ({"curve": None}, "mine.npz: is damaged"),
        ({"exact": {"reward": "high"}}, "mine.npz: is damaged"),
    ],
)
def test_what_is_no_actor_is_refused_by_its_own_name(tmp_path, changes, message):
    record, _ = read_arrays(shipped_actor(), "an actor")
    path = tmp_path / "temporary.npz"
    write_arrays(path, record | changes, {"actor": np.zeros(1, dtype=np.float32)})
    with pytest.raises(InputError) as raised:
        read_training_curve(path, "mine.npz")
    assert str(raised.value).startswith(message)


def test_an_actor_without_the_exact_plans_has_no_line_of_them(tmp_path):
    record, arrays = read_arrays(shipped_actor(), "an actor")
    path = tmp_path / "actor.npz"
    write_arrays(path, record | {"exact": None}, arrays)
    assert [trace.name for trace in training_chart(read_training_curve(path)).data] == ["reward a second", "late tasks"]
