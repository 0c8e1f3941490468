"""Whether a driver's listing is that of a GPU type: never a yes where another type fits too, or that one does not."""

import re
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from stand_ins.driver_listings import lgip, lgipp
from support.damage import damaged

from sliceplan.solver.formats.live_state.catalogue_check import MEMORY, check_catalogue
from sliceplan.solver.formats.live_state.driver_profiles import read_driver_profiles
from sliceplan.solver.model.catalogue import load_catalogue
from sliceplan.solver.model.errors import InputError

CATALOGUE = load_catalogue()
BOARDS = sorted(name for name, gpu in CATALOGUE.items() if gpu.mig)

PLACES = """GPU  0 Profile ID 19 Placements: {0,1,2,3,4,5,6}:1
GPU  0 Profile ID 20 Placements: {0,1,2,3,4,5,6}:1
GPU  0 Profile ID 15 Placements: {0,2,4,6}:2
GPU  0 Profile ID 14 Placements: {0,2,4}:2
GPU  0 Profile ID  9 Placements: {0,4}:4
GPU  0 Profile ID  5 Placement : {0}:4
GPU  0 Profile ID  0 Placement : {0}:8
"""
"""The seven-slot table that NVIDIA's MIG User Guide prints."""


def check(board, *texts):
    return check_catalogue(read_driver_profiles((f"f{i}", text) for i, text in enumerate(texts)), CATALOGUE[board])


def fits(board, of, *, names):
    """
    Tells whether what a driver lists of a board could be another's, by the catalogue alone; an oracle of its own.

    By places alone: as many profiles with the same ids (if all are known) and places. With -lgip: the same names, and
    for each of them nothing that is known of `board` differs from what is listed for `of`.
    """
    ours, theirs = ({one.name: one for one in CATALOGUE[gpu].mig.profiles} for gpu in (board, of))
    if names:
        return ours.keys() == theirs.keys() and all(_alike(ours[name], theirs[name]) for name in ours)
    ids = None not in {one.nvml_profile_id for one in (*ours.values(), *theirs.values())}
    mine, listed = (
        sorted((one.nvml_profile_id if ids else 0, sorted(one.starts), one.memory_slices) for one in profiles.values())
        for profiles in (ours, theirs)
    )
    return mine == listed


def _alike(ours, listed):
    """Compares an entry with the listing of one of the same name; see `lgip` for what stands for what is not known."""
    named = 0.95 * float(re.search(r"\.(\d+)gb", listed.name)[1])
    return (
        (ours.nvml_profile_id is None or ours.nvml_profile_id == listed.nvml_profile_id)
        and (sorted(ours.starts), ours.memory_slices) == (sorted(listed.starts), listed.memory_slices)
        and ours.max_count == listed.max_count
        and ours.sm_count in (None, listed.sm_count or 11)
        and (ours.memory_gib is None or abs((listed.memory_gib or named) / ours.memory_gib - 1) <= MEMORY)
    )


@pytest.mark.parametrize("of", BOARDS)
def test_every_board_against_every_boards_listings(of):
    """A board is contradicted, or not to be told from another, or the listing is its own: never a yes beside these."""
    for names, texts in ((False, [lgipp(of)]), (True, [lgip(of)]), (True, [lgip(of), lgipp(of)])):
        fitting = {board for board in BOARDS if fits(board, of, names=names)}
        assert of in fitting
        for board in BOARDS:
            found = check(board, *texts)
            assert bool(found.differences) == (board not in fitting), (board, of, names, found.differences)
            assert set(found.alike) == (fitting - {board} if board in fitting else set())


def test_places_alone_tell_no_board_of_seven_slots_from_the_others():
    found = check("H100-94GB-NVL", PLACES)
    assert {"A100-80GB", "H100-80GB-SXM", "H200-141GB", "B200-180GB"} <= set(found.alike)
    assert not found.has_names


def test_names_and_memory_tell_an_nvl_from_all_others():
    assert check("H100-94GB-NVL", PLACES, lgip("H100-94GB-NVL")).alike == ()
    assert check("H100-94GB-NVL", lgip("H100-94GB-NVL")).differences == ()
    wrong = check("H100-80GB-SXM", PLACES, lgip("H100-94GB-NVL"))
    assert "1g.10gb (19): the driver has the name 1g.12gb; the catalogue 1g.10gb" in wrong.differences
    assert "1g.10gb (19): the driver has GiB: 10.75; the catalogue 9.75" in wrong.differences


@pytest.mark.parametrize(("one", "other"), [("A100-80GB", "H100-80GB-SXM"), ("GH200-96GB", "H20-96GB")])
def test_boards_whose_profiles_have_the_same_names_are_told_apart_by_their_sms(one, other):
    assert any("the driver has SMs: " in difference for difference in check(one, lgip(other)).differences)
    assert check(one, lgip(one)).alike == ()


def test_boards_of_one_kind_cannot_be_told_apart():
    found = check("RTX-PRO-6000-96GB", lgip("RTX-PRO-6000-96GB"), lgipp("RTX-PRO-6000-96GB"))
    assert found.differences == ()
    assert set(found.alike) == {"RTX-PRO-6000-96GB-MAXQ", "RTX-PRO-6000-96GB-WS"}
    assert found.has_names


def test_the_memory_of_another_driver_is_no_contradiction():
    """1g.23gb of a B200 had 20.50 GiB in one listing and 22.00 in another."""
    assert check("B200-180GB", lgip("B200-180GB", off=22 / 20.5 - 1)).differences == ()
    assert check("B200-180GB", lgip("B200-180GB", off=0.2)).differences != ()


def test_the_driver_of_an_earlier_release_lacks_profiles_and_that_is_said():
    """A transcript with the prompt in front, of a driver that had neither +me nor twice the memory."""
    old = "[u@glacier ~]$ sudo nvidia-smi mig -lgipp\n" + "".join(
        line for line in PLACES.splitlines(keepends=True) if "ID 20" not in line and "ID 15" not in line
    )
    assert check("A100-80GB", old).differences == (
        "1g.10gb+me (20): the catalogue has it; the driver does not",
        "1g.20gb (15): the catalogue has it; the driver does not",
    )


def test_other_places_are_told_one_by_one():
    text = PLACES.replace("{0,4}:4", "{0}:4").replace("ID 15", "ID 16")
    assert check("A100-80GB", text).differences == (
        "3g.40gb (9): the driver has {0}:4; the catalogue {0,4}:4",
        "profile 16, {0,2,4,6}:2: the driver has it; the catalogue does not",
        "1g.20gb (15): the catalogue has it; the driver does not",
    )
    assert len(check("T4", PLACES).differences) == 7


def test_all_gpus_of_a_node_may_be_listed_if_they_are_alike():
    assert check("A30-24GB", lgipp("A30-24GB") + lgipp("A30-24GB", 1), lgip("A30-24GB")).alike == ()


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ([""], "f0: is empty; expected the output of `nvidia-smi mig -lgip` or `-lgipp`"),
        (["GPU 0 Profile ID 19"], "line 1 is 'GPU 0 Profile ID 19'; no line of"),
        ([PLACES + PLACES.splitlines()[0]], "line 8 lists profile 19 of GPU 0 again"),
        ([PLACES + "GPU  1 Profile ID  0 Placement : {0}:8\n"], "lists GPUs that differ"),
        (["GPU 0 Profile ID 19 Placements: {0,,1}:1"], "no line of"),
        ([PLACES, lgip("A30-24GB")], "f0, f1: has other profiles in -lgip than in -lgipp"),
        ([lgip("A100-80GB").replace(" No ", " x ", 1)], "no line of"),
        ([lgip("A100-80GB") + lgip("H100-80GB-SXM", 1)], "lists GPUs that differ"),
        ([lgip("A100-80GB"), lgip("A100-80GB")], "f1: line 6 lists profile 19 of GPU 0 again"),
    ],
)
def test_wrong_listings_are_refused(texts, message):
    with pytest.raises(InputError) as caught:
        check("A100-80GB", *texts)
    assert message in str(caught.value)


@settings(max_examples=200, deadline=None)
@given(st.data())
def test_damage_is_refused_or_no_yes_for_another_board(data):
    """Property: whatever happened to a listing, no board that the whole one contradicts gets a yes."""
    of, board = data.draw(st.sampled_from(BOARDS)), data.draw(st.sampled_from(BOARDS))
    text = data.draw(damaged(data.draw(st.sampled_from([lgip(of), lgipp(of), lgip(of) + lgipp(of)]))))
    with suppress(InputError):
        found = check(board, text)
        assert found.differences or found.alike or board == of or fits(board, of, names=True)
