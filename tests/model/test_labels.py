"""Labels of two plans together name one service each, and a plan whose labels do not is refused."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from problems.shop import shop_plan

from sliceplan.solver.formats.plan_files import dump_plan, read_plan
from sliceplan.solver.model.errors import InputError
from sliceplan.solver.model.labels import labels_of_both

NAMES = "abcde"
TEXTS = st.sampled_from([*NAMES, "x", "y", "y\u200cy", "yy"])


class Side:
    def __init__(self, labels, names):
        self.labels = {name: label for name, label in labels.items() if name in names and label != name}
        self.service_names = set(names)


def is_clear(labels, names):
    """By comparing every pair of what services are called, but for joiners."""
    called = [(name, labels.get(name, name).replace("\u200c", "")) for name in names]
    return all(a[1] != b[1] for i, a in enumerate(called) for b in called[i + 1 :])


def is_allowed(side):
    """As problems and plans are asked for: clear, and no label is the name of another, whatever that is called."""
    taken = any(label.replace("\u200c", "") in side.service_names - {name} for name, label in side.labels.items())
    return is_clear(side.labels, side.service_names) and not taken


SIDES = st.builds(Side, st.dictionaries(st.sampled_from(NAMES), TEXTS), st.sets(st.sampled_from(NAMES))).filter(
    is_allowed
)


@given(SIDES, SIDES)
def test_no_two_services_of_two_plans_are_called_alike(old, new):
    """Property: two plans that are allowed are clear together; new labels are kept but for names of who went."""
    both = labels_of_both(old, new)
    assert is_clear(both, old.service_names | new.service_names)
    gone = old.service_names - new.service_names
    for name, label in new.labels.items():
        assert both.get(name) == (None if label.replace("\u200c", "") in gone else label)
    assert set(both) <= set(old.labels) | set(new.labels)


def test_labels_of_a_plan_are_written_and_read():
    plan = shop_plan()
    assert plan.labels == {}
    assert plan.called({}) is plan
    first = sorted(plan.service_names)[0]
    called = plan.called({first: "写真"})
    assert called.called({}) == plan
    assert '"写真"' in dump_plan(called)


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (("x", "x"), "labels are the same, or look alike: x"),
        (("x\u200cy", "xy"), "labels are the same, or look alike: xy"),
        (("OTHER", "x"), "labels are names of other services"),
        (("a\u202eb", "x"), "cannot be seen"),
        (("a\nb", "x"), "cannot be seen"),
    ],
)
def test_a_plan_whose_labels_are_not_clear_is_refused(tmp_path, labels, message):
    plan = shop_plan()
    first, second, third = sorted(plan.service_names)[:3]
    called = dict(zip((first, second), labels, strict=True))
    path = tmp_path / "plan.json"
    path.write_text(dump_plan(plan.called({name: third if one == "OTHER" else one for name, one in called.items()})))
    with pytest.raises(InputError, match=message):
        read_plan(path)
