"""A sample of the interruptions at random moments (interruptions.py)."""

from attacks.interruptions import COMMANDS, trial


def test_an_interruption_ends_a_command_without_a_traceback_and_leaves_no_partial_file():
    for name, after_s in (("solve", 0.02), ("headroom", 0.6), ("export", 0.4), ("compare", 1.2)):
        how, _ = trial(COMMANDS[name], lambda after_s=after_s: after_s)
        assert how
