"""What can be added beside instances that stay, against every layout that has them."""

from collections import Counter
from random import Random

import pytest

from sliceplan.solver.exact.replanning.replanning import _maximal_additions
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.geometry import placement_rules, valid_layouts


def profiles_of(layout):
    return tuple(sorted(place.profile for place in layout))


@pytest.mark.parametrize("gpu", ["A30-24GB", "A100-80GB"])
def test_additions_are_those_of_the_layouts_that_hold_what_stands_and_no_more_than_usable(gpu):
    """Property: one layout for each largest multiset of usable instances."""
    rules, draw = placement_rules(load_catalogue()[gpu].mig), Random(gpu)
    layouts = list(valid_layouts(rules))
    names = [rule.name for rule in rules.profiles]
    for _ in range(12):
        one = draw.choice(layouts)
        standing = tuple(sorted(draw.sample(one, draw.randint(0, min(2, len(one))))))
        usable = frozenset(draw.sample(names, draw.randint(1, 3)))
        holding = [layout for layout in layouts if set(standing) <= set(layout)]
        rests = [tuple(sorted(set(layout) - set(standing))) for layout in holding]
        beside = [rest for rest in rests if {place.profile for place in rest} <= usable]
        counts = {profiles_of(rest) for rest in beside}
        largest = [own for own in counts if not any(own != more and Counter(own) <= Counter(more) for more in counts)]
        found = _maximal_additions(rules, standing, usable)
        assert sorted(map(profiles_of, found)) == sorted(largest)
        assert set(found) <= set(beside)
