"""Lines that nobody can be told vanish, and leave nothing open behind them."""

import os
from pathlib import Path

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
