"""Which tests are chosen for a mutant, and in which order."""

import pytest
from mutation.mutants import Mutant
from mutation.suite import Suite


def mutant(file, first, last=None, is_import_time=False):
    return Mutant(file, "constant", first, last or first, 0, 1, "2", is_import_time)


def record(test, seconds=1.0, setup=None, **lines):
    return {
        "test": test,
        "seconds": seconds,
        "setup": setup or {},
        "lines": {name.replace("__", "/") + ".py": at for name, at in lines.items()},
    }


def chosen(records, one, most_tests=100, most_seconds=100.0):
    return Suite(records).of(one, most_tests, most_seconds)


def test_a_modules_own_tests_come_first_and_then_quick_ones_before_slow_ones():
    records = [
        record("tests/test_cli.py::slow", 9.0, solver__check__plan=[1, 2]),
        record("tests/test_cli.py::quick", 0.1, solver__check__plan=[2]),
        record("tests/check/test_shares.py::near", 5.0, solver__check__plan=[2]),
        record("tests/check/test_plan.py::own", 8.0, solver__check__plan=[2, 3]),
        record("tests/check/test_plan.py::elsewhere", 1.0, solver__check__plan=[3]),
    ]
    assert chosen(records, mutant("solver/check/plan.py", 2)).tests == (
        "tests/check/test_plan.py::own",
        "tests/check/test_shares.py::near",
        "tests/test_cli.py::quick",
        "tests/test_cli.py::slow",
    )
    assert chosen(records, mutant("solver/check/plan.py", 4)).tests == ()
    assert len(chosen(records, mutant("solver/check/plan.py", 1, 3)).tests) == 5


def test_the_agents_tests_mirror_its_folder():
    records = [
        record(f"tests/{at}::a", agent__trust__keys=[1]) for at in ("trust/test_keys.py", "agent/trust/test_keys.py")
    ]
    assert chosen(records, mutant("agent/trust/keys.py", 1)).tests[0].startswith("tests/agent/")


def test_what_a_fixture_carries_out_counts_for_every_test_of_its_file():
    records = [
        record("tests/test_a.py::first", setup={"solver/a.py": [1]}),
        record("tests/test_a.py::second"),
        record("tests/test_b.py::other"),
    ]
    found = chosen(records, mutant("solver/a.py", 1)).tests
    assert set(found) == {"tests/test_a.py::first", "tests/test_a.py::second"}


def test_for_what_is_carried_out_at_import_every_test_of_the_module_counts():
    records = [record("tests/test_a.py::a", solver__a=[7]), record("tests/test_a.py::b", solver__b=[7])]
    assert chosen(records, mutant("solver/a.py", 1, is_import_time=True)).tests == ("tests/test_a.py::a",)


@pytest.mark.parametrize(("most_tests", "most_seconds", "count"), [(2, 100, 2), (100, 3.5, 3), (100, 0.1, 1)])
def test_what_is_beyond_the_limits_is_counted(most_tests, most_seconds, count):
    records = [record(f"tests/test_a.py::{i}", solver__a=[1]) for i in range(6)]
    found = chosen(records, mutant("solver/a.py", 1), most_tests, most_seconds)
    assert (len(found.tests), found.seconds, found.left_out) == (count, count, 6 - count)


@pytest.mark.parametrize(("seconds", "near"), [(0.5, 8), (2.0, 2), (9.0, 1)])
def test_the_nearest_tests_run_before_the_others_are_read(seconds, near):
    records = [record(f"tests/test_a.py::{i}", seconds, solver__a=[1]) for i in range(8)]
    assert chosen(records, mutant("solver/a.py", 1)).near == near


def test_different_tests_have_their_turn_before_other_parameters_of_the_same():
    names = ("many[1]", "many[2]", "many[3]", "other", "more[1]", "more[2]")
    records = [record(f"tests/test_a.py::{name}", i / 10, solver__a=[1]) for i, name in enumerate(names)]
    found = [name.split("::")[1] for name in chosen(records, mutant("solver/a.py", 1)).tests]
    assert found == ["many[1]", "other", "more[1]", "many[2]", "more[2]", "many[3]"]
