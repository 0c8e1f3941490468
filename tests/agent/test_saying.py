"""Lines that nobody can be told vanish, and leave nothing open behind them."""

import contextlib
import io
import os
import sys
from pathlib import Path

import pytest

from sliceplan.agent import saying


def open_descriptors():
    return len(list(Path("/proc/self/fd").iterdir()))


def test_a_stream_that_fails_is_led_nowhere_for_good(tmp_path):
    with (tmp_path / "out").open("w") as stream:
        descriptors = open_descriptors()
        saying.lead_nowhere(stream)
        assert open_descriptors() == descriptors
        print("lost", file=stream, flush=True)
    assert (tmp_path / "out").read_text() == ""


def test_a_stream_that_is_closed_is_left_and_nothing_stays_open(tmp_path):
    stream = (tmp_path / "out").open("w")
    stream.close()
    descriptors = open_descriptors()
    saying.lead_nowhere(stream)
    assert open_descriptors() == descriptors


def test_what_a_reader_had_no_room_for_is_counted_once_there_is_some():
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with os.fdopen(reader, "rb") as read, os.fdopen(writer, "w") as stream:
        while True:  # until the pipe is full
            try:
                os.write(writer, b"x" * 4096)
            except BlockingIOError:
                break
        saying._left_out[stream] = 1  # so that it is not waited for
        saying._print("second", stream)
        assert saying._left_out[stream] == 2
        os.read(read.fileno(), 1 << 20)
        saying._print("third", stream)
        assert stream not in saying._left_out
        assert (
            os.read(read.fileno(), 1 << 20).decode().endswith("(2 lines left out, which nobody read in time)\nthird\n")
        )


def test_one_line_waits_for_room_and_those_after_it_are_counted_at_once(monkeypatch):
    waited, rooms, stream = [], iter([True, False, False, True, True]), io.StringIO()
    monkeypatch.setattr(saying, "_has_room", lambda _stream, timeout_s: waited.append(timeout_s) or next(rooms))
    for text in "abcde":
        saying._print(text, stream)
    assert waited == [saying.PATIENCE_S, saying.PATIENCE_S, 0.0, 0.0, saying.PATIENCE_S]
    assert stream.getvalue() == "a\n(2 lines left out, which nobody read in time)\nd\ne\n"


def test_there_is_room_in_a_pipe_that_somebody_reads_and_in_what_is_no_file():
    assert saying._has_room(io.StringIO(), 0.0)
    reader, writer = os.pipe()
    os.set_blocking(writer, False)
    with os.fdopen(reader, "rb"), os.fdopen(writer, "w") as stream:
        assert saying._has_room(stream, 0.0)
        with contextlib.suppress(BlockingIOError):
            while True:  # until the pipe is full
                os.write(writer, b"x" * 4096)
        assert not saying._has_room(stream, 0.0)


class Broken(io.StringIO):
    def __init__(self, error):
        super().__init__()
        self.error = error

    def flush(self):
        raise self.error


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), BrokenPipeError(), ValueError("closed")])
@pytest.mark.parametrize(("say", "name"), [(saying.say, "stdout"), (saying.say_error, "stderr")])
def test_each_line_is_written_at_once_and_a_stream_that_fails_is_left(monkeypatch, error, say, name):
    left, stream = [], Broken(error)
    monkeypatch.setattr(saying, "lead_nowhere", left.append)
    monkeypatch.setattr(sys, name, stream)
    say("a line")
    assert left == [stream]


@pytest.mark.parametrize(("say", "name"), [(saying.say, "stdout"), (saying.say_error, "stderr")])
def test_a_stream_that_was_closed_from_the_beginning_is_no_error(monkeypatch, say, name):
    monkeypatch.setattr(sys, name, None)
    say("a line")
