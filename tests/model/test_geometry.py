"""What fits together on a GPU, counted against the MIG guide and the published enumerations."""

import itertools
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.geometry import (
    Placement,
    addable_placements,
    additions,
    maximal_layouts,
    maximal_multisets,
    most_addable,
    multiset,
    placement_rules,
    roomiest_layout,
    valid_layouts,
)

CATALOGUE = load_catalogue()
MIG_GPUS = [name for name, gpu in CATALOGUE.items() if gpu.mig]


def rules_of(gpu, kinds=("base",)):
    mig = CATALOGUE[gpu].mig
    return placement_rules(mig, [profile.name for profile in mig.profiles if profile.kind in kinds])


SEVEN_SLICES = [name for name in MIG_GPUS if CATALOGUE[name].mig.compute_slices == 7]


@pytest.mark.parametrize("gpu", SEVEN_SLICES)
def test_seven_slice_gpus_have_19_maximal_layouts_298_states_and_14_multisets(gpu):
    rules = rules_of(gpu)
    layouts = maximal_layouts(rules)
    assert len(layouts) == 19
    assert len(valid_layouts(rules)) == 298
    assert len({multiset(layout) for layout in layouts}) == 14
    assert len(maximal_multisets(rules)) == 12


FOUR_SLICES = [name for name in MIG_GPUS if CATALOGUE[name].mig.compute_slices == 4]


@pytest.mark.parametrize("gpu", FOUR_SLICES)
def test_four_slice_gpus_have_5_maximal_layouts_and_26_states(gpu):
    rules = rules_of(gpu)
    assert len(maximal_layouts(rules)) == 5
    assert len(valid_layouts(rules)) == 26


def test_a_two_slice_gpu_has_2_maximal_layouts_and_5_states():
    rules = rules_of("RTX-PRO-5000-48GB")
    assert len(maximal_layouts(rules)) == 2
    assert len(valid_layouts(rules)) == 5


@pytest.mark.parametrize("gpu", MIG_GPUS)
def test_valid_layouts_are_the_sets_of_placements_in_which_no_two_share_a_unit(gpu):
    """By brute force over all sets of placements of the base profiles, from the catalogue's rows alone."""
    mig = CATALOGUE[gpu].mig
    places = [
        (profile.name, start, set(range(start, start + profile.memory_slices)), profile.compute_slices)
        for profile in mig.profiles
        if profile.kind == "base"
        for start in profile.starts
    ]
    most = {profile.name: profile.max_count for profile in mig.profiles}
    legal = set()
    for chosen in itertools.product((False, True), repeat=len(places)):
        taken = [place for place, is_in in zip(places, chosen, strict=True) if is_in]
        units = [unit for _, _, of_one, _ in taken for unit in of_one]
        counts = Counter(name for name, _, _, _ in taken)
        if (
            len(units) == len(set(units))
            and sum(slices for _, _, _, slices in taken) <= mig.compute_slices
            and all(times <= most[name] for name, times in counts.items())
        ):
            legal.add(frozenset((name, start) for name, start, _, _ in taken))
    found = {frozenset((one.profile, one.start) for one in layout) for layout in valid_layouts(rules_of(gpu))}
    assert found == legal


def test_double_memory_profiles_give_78_maximal_layouts_on_a100():
    assert len(maximal_layouts(rules_of("A100-80GB", ("base", "double_memory")))) == 78


@pytest.mark.parametrize(
    ("gpu", "maximal"),
    [("A100-40GB", 239), ("H100-80GB-SXM", 239), ("H200-141GB", 239), ("A30-24GB", 17), ("RTX-PRO-6000-96GB", 302)],
)
def test_engine_limits_leave_as_many_maximal_layouts_as_enumerated_elsewhere(gpu, maximal):
    assert len(maximal_layouts(rules_of(gpu, ("base", "double_memory", "variant")))) == maximal


def test_only_one_media_instance_fits_and_it_blocks_the_other_media_profile():
    rules = rules_of("A30-24GB", ("base", "variant"))
    added = {placement.profile for placement in addable_placements(rules, (Placement(0, "1g.6gb+me"),))}
    assert added == {"1g.6gb", "2g.12gb"}


def test_all_media_engines_in_one_instance_leave_room_for_instances_without_any():
    rules = rules_of("RTX-PRO-6000-96GB", ("base", "variant"))
    added = {placement.profile for placement in addable_placements(rules, (Placement(0, "1g.24gb+me.all"),))}
    assert added == {"1g.24gb-me", "2g.48gb-me"}


def test_three_3g_or_two_3g_with_a_1g_do_not_fit():
    rules = rules_of("A100-80GB")
    assert roomiest_layout(rules, ("3g.40gb",) * 3) is None
    assert roomiest_layout(rules, ("1g.10gb", "3g.40gb", "3g.40gb")) is None


def test_a_lone_3g_starts_at_4_so_that_a_4g_still_fits():
    rules = rules_of("A100-80GB")
    assert roomiest_layout(rules, ("3g.40gb",)) == (Placement(4, "3g.40gb"),)


@pytest.mark.parametrize("gpu", MIG_GPUS)
def test_an_empty_gpu_takes_as_many_instances_as_nvidia_lists(gpu):
    mig = CATALOGUE[gpu].mig
    rules = placement_rules(mig)
    for profile in mig.profiles:
        assert most_addable(rules, (), profile.name) == profile.max_count, profile.name


@given(st.sampled_from(MIG_GPUS), st.data())
def test_a_part_of_what_fits_still_fits(gpu, data):
    """Property: valid layouts are closed under removal."""
    rules = rules_of(gpu)
    layouts = valid_layouts(rules)
    layout = data.draw(st.sampled_from(layouts[1:]))
    removed = data.draw(st.integers(0, len(layout) - 1))
    assert (*layout[:removed], *layout[removed + 1 :]) in layouts


@given(st.sampled_from(MIG_GPUS), st.data())
def test_what_can_be_added_together_are_the_layouts_around_without_what_is_there(gpu, data):
    rules = rules_of(gpu)
    layouts = valid_layouts(rules)
    there = data.draw(st.sampled_from(layouts))
    around = [tuple(one for one in layout if one not in there) for layout in layouts if set(there) <= set(layout)]
    assert sorted(additions(rules, there)) == sorted(around)


@pytest.mark.parametrize("gpu", MIG_GPUS)
def test_nothing_can_be_added_to_maximal_layouts_and_to_no_other(gpu):
    rules = rules_of(gpu, ("base", "variant"))
    assert maximal_layouts(rules) == tuple(one for one in valid_layouts(rules) if not addable_placements(rules, one))
