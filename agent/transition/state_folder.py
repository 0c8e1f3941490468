"""
The folder in which an agent keeps what it must not forget.

    lock                  held while an agent works; names its process
    journal.jsonl         what the transition that ran last meant to do and did (journal.py)
    journal-discarded.jsonl  the last journal that somebody told the agent to discard
    signed-plan.json      the signed plan that the last transition to a new plan carries out (vouching.py)
    applied.json          what was reached last, and from which plan (applied.py)
    checkpoint-TIME.json  what was there before each transition (checkpoint.py)
    newest-release.json   the newest signed plan that was ever applied (trust/sequence.py)
    state.json            what `sliceplan-agent run` is doing, for people and `status`

A file is written aside, synced, renamed, and its folder synced: after a power cut there is the old file or the new
one.
"""

from fnmatch import fnmatch

from ..files.durable_files import NotWrittenError
from ..files.guarded_folder import GuardedFolder

JOURNAL = "journal.jsonl"
DISCARDED = "journal-discarded.jsonl"
SIGNED = "signed-plan.json"
APPLIED = "applied.json"
LOCK = "lock"
STATE = "state.json"
CHECKPOINTS = "checkpoint-*.json"

CHECKPOINTS_KEPT = 20
"""Older checkpoints are deleted."""


class StateFolder(GuardedFolder):
    """The folder of one agent."""

    def new_name(self, time: str) -> str:
        """Returns a name for a checkpoint that no file has yet."""
        there = self.names()
        name, number = f"checkpoint-{time}.json", 2
        while name in there:
            name, number = f"checkpoint-{time}-{number}.json", number + 1
        return name

    def forget_old_checkpoints(self, keep: str | None) -> None:
        """Deletes all checkpoints but the last ones and the one to keep; raises NotWrittenError."""
        there = [name for name in self.names() if fnmatch(name, CHECKPOINTS)]
        try:
            there.sort(key=lambda name: (self.path / name).lstat().st_mtime_ns)
        except OSError as error:
            raise NotWrittenError(self.path, error) from error
        for name in there[:-CHECKPOINTS_KEPT]:
            if name != keep:
                self.remove(name)
