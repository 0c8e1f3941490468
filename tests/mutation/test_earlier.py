"""The map of an earlier run on a tree that has changed since."""

from mutation.earlier import carried_over, later_lines


def test_lines_go_where_they_are_now_and_what_replaces_them_counts_for_their_tests():
    before, now = ["a", "b", "c", "d"], ["new", "a", "B1", "B2", "c"]
    assert later_lines(before, now) == {1: [1, 2, 3, 4], 2: [3, 4], 3: [3, 4, 5], 4: []}


def test_what_is_added_counts_for_the_tests_of_the_lines_beside_it():
    assert later_lines(["a", "b", "c"], ["a", "b", "new", "c"]) == {1: [1], 2: [2, 3], 3: [3, 4]}


def tree_of(root, **files):
    for name, text in files.items():
        path = root / (name.replace("__", "/") + ".py")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return root


def test_tests_that_changed_are_left_to_be_followed_again(tmp_path):
    shared = {
        "solver__check__plan": "a\nb\n",
        "solver__gone": "x\n",
        "tests__check__test_plan": "1",
        "tests__test_b": "2",
    }
    before = tree_of(tmp_path / "before", **shared, tests__test_c="3", tests__test_d="4")
    now = tree_of(tmp_path / "now", **shared, tests__test_c="changed", agent__new="y\n", solver__check__new="y\nz\n")
    (now / "solver" / "gone.py").unlink()
    (now / "solver" / "check" / "plan.py").write_text("above\na\nb\n")
    lines = {"solver/check/plan.py": [2], "solver/gone.py": [1]}
    records = [
        {"test": f"tests/{name}.py::one", "seconds": 1.0, "setup": {"solver/check/plan.py": [1]}, "lines": lines}
        for name in ("check/test_plan", "test_b", "test_c", "test_d")
    ]
    own, other = carried_over(records, before, now)
    assert own["setup"] == other["setup"] == {"solver/check/plan.py": [1, 2]}
    assert other["lines"] == {"solver/check/plan.py": [3]}
    # A module that is new counts for the tests of its room.
    assert own["lines"] == {"solver/check/plan.py": [3], "solver/check/new.py": [1, 2]}
