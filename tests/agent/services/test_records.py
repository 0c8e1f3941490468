"""Files of variables for units of others: what they hold and who may read them."""

import os
import stat

from sliceplan.agent.services.records import write_variables


def test_variables_are_lines_in_a_file_that_all_may_read_and_its_owner_alone_write(tmp_path):
    folder, before = tmp_path / "env", os.umask(0)
    try:
        write_variables(folder, "a.env", {"A": "1", "B": "x=y"})
    finally:
        os.umask(before)
    assert (folder / "a.env").read_text() == "A=1\nB=x=y\n"
    assert stat.S_IMODE((folder / "a.env").stat().st_mode) == 0o644
    write_variables(folder, "a.env", {})
    assert (folder / "a.env").read_text() == ""
