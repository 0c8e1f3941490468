"""What `sliceplan-agent simulate` takes in words, and what it refuses of them."""

import pytest

from sliceplan.agent.commands.simulating import _injection, _place, _types
from sliceplan.agent.devices.simulated.injection import Injection
from sliceplan.solver.model.errors import InputError


@pytest.mark.parametrize(("text", "call"), [("busy@1", 1), ("busy@12", 12), ("half_done@2", 2)])
def test_a_failure_has_its_kind_and_the_call_that_fails(text, call):
    assert _injection(text) == Injection(call, text.split("@")[0])


@pytest.mark.parametrize("text", ["busy", "busy@", "busy@0", "busy@-1", "busy@x", "other@1", "@1"])
def test_what_is_no_failure_is_refused_with_the_kinds_there_are(text):
    with pytest.raises(InputError, match=r"--fail: is '.*'; expected KIND@CALL.*kinds: busy, insufficient_resources"):
        _injection(text)


@pytest.mark.parametrize(("text", "place"), [("7@0", (7, 0, None)), ("7@1:4", (7, 1, 4)), ("7@1:0", (7, 1, 0))])
def test_a_process_of_others_is_on_a_gpu_or_an_instance(text, place):
    assert _place(text) == place


@pytest.mark.parametrize("text", ["7", "@0", "x@0", "7@x", "7@0:x", "7@:4"])
def test_what_is_no_place_is_refused(text):
    with pytest.raises(InputError, match=r"--busy: is '.*'; expected PID@GPU or PID@GPU:START"):
        _place(text)


@pytest.mark.parametrize(("text", "number"), [("T4", 1), ("T4:1", 1), ("T4:64", 64)])
def test_a_type_is_there_once_or_as_often_as_is_said(text, number):
    assert _types(text, "--gpus", "GPUs", {"T4"}) == ["T4"] * number


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("T4:0", "expected TYPE:COUNT with 1 to 64 GPUs"),
        ("T4:65", "expected TYPE:COUNT with 1 to 64 GPUs"),
        ("T4:x", "expected TYPE:COUNT with 1 to 64 GPUs"),
        ("T5", "has 'T5'; not in the catalogue"),
    ],
)
def test_what_is_no_number_of_a_known_type_is_refused(text, words):
    with pytest.raises(InputError, match=f"--gpus: .*{words}"):
        _types(text, "--gpus", "GPUs", {"T4"})
