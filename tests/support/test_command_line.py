"""Command lines in processes of their own begin with everything imported."""

import json
import sys

from support.command_line import PRELOADED, started


def note_what_is_there(path):
    path.write_text(json.dumps([name for name in PRELOADED if name in sys.modules]))


def test_a_process_begins_with_all_that_is_preloaded(tmp_path):
    """What the server cannot import it passes over in silence, and each process imports it again."""
    process = started(note_what_is_there, tmp_path / "found.json")
    process.join()
    assert json.loads((tmp_path / "found.json").read_text()) == PRELOADED
