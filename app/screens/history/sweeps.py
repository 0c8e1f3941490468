"""The sweeps that are saved for a problem."""

from sliceplan.app.access import writing
from sliceplan.app.session.session import Result, Session
from sliceplan.app.store.records import SavedSweep
from sliceplan.app.store.shared import problem_at, shared_store
from sliceplan.app.store.sweeps import load_sweep, sweeps
from sliceplan.app.tables.history import sweeps_table, varied

from .choosing import say
from .saved import Act, Kind, show_saved

NOTHING = (
    "No sweep is saved for this problem. Run one on the screen *What-if*, then press *Save sweep* below it: it is kept "
    "here with the version that it varies."
)


def show(session: Session, name: str) -> None:
    """Draws the tab."""
    kind = Kind("sweep", NOTHING, sweeps, sweeps_table, sweep_words, writing.archive_sweep, writing.unarchive_sweep)
    show_saved(
        session, name, kind, (Act("Show it again", "show_sweep", "Makes it the sweep that What-if shows", _show_again),)
    )


def sweep_words(sweep: SavedSweep) -> str:
    """Returns a sweep in a line."""
    note = f": {sweep.note}" if sweep.note else ""
    return f"{sweep.id} — of version {sweep.problem.number}, {varied(sweep)}, {sweep.points} points{note}"


def _show_again(session: Session, sweep: SavedSweep) -> None:
    store = shared_store()
    session.results["sweep"] = Result(problem_at(store, sweep.problem), load_sweep(store, sweep.id))
    say(session, f"Sweep {sweep.id} of {sweep.problem} is now shown on What-if.")
