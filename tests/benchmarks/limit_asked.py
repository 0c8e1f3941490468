"""The time limit that a benchmark is asked for: of wall seconds, or of CPU seconds, which know no other programs."""

import time


def add_time_limit(parser, seconds) -> None:
    """Adds the two options to a parser; `seconds`: the limit unless another is asked for."""
    parser.add_argument("--time-limit", type=float, default=seconds, help="seconds for each problem")
    parser.add_argument("--cpu", action="store_true", help="the limit is one of CPU seconds")


def count_as_asked(asked) -> str:
    """Lets the searches of this process count the seconds that were asked for, and returns the limit in words."""
    if asked.cpu:
        time.monotonic = time.process_time
    return f"{asked.time_limit:g} s{' of CPU' if asked.cpu else ''} each"
