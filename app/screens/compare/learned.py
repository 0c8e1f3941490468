"""The learned scheduler (InSS): how its actor came to what it does, beside the exact plans."""

from pathlib import Path
from tempfile import TemporaryDirectory

import streamlit as st

from sliceplan.app.charts.training_curve import training_chart
from sliceplan.app.session.session import Session
from sliceplan.app.widgets.memo import made_once
from sliceplan.app.widgets.pictures import show_picture
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.inss.learning.training_curve import TrainingCurve, read_training_curve
from sliceplan.solver.inss.shipped_problem import shipped_actor
from sliceplan.solver.model.errors import InputError

MOST_MIB = 5


def show_learned(session: Session) -> None:
    """Draws the curve of an uploaded actor, or of the shipped one."""
    st.caption(
        "InSS has a neural network deal out shares and batches, trained against simulated seconds. This is how it "
        "learned: its reward after so many episodes, and the part of all tasks that came late, beside exact plans on "
        "the same rates. The reward is the capacity in units of one GPU each, less 50 times that part."
    )
    file = st.file_uploader(
        "Your own: an actor of `sliceplan train-inss`", type=["npz"], key="learned_actor", max_upload_size=MOST_MIB
    )
    try:
        if file is None:
            curve = made_once("compare.shipped_actor", (), lambda: read_training_curve(shipped_actor()))
        else:
            curve = made_once("compare.actor", (file.file_id,), lambda: _uploaded(file.name, file.getvalue()))
    except InputError as error:
        for finding in error.findings:
            st.error(literal(str(finding)))
        return
    st.header(literal(_in_words(curve)))
    show_picture(session, training_chart(curve), "training_curve")
    st.caption(
        literal(f"{curve.problem}{' (shipped)' if file is None else ''}: {curve.episodes} episodes, seed {curve.seed}.")
        + " A training is `sliceplan train-inss`; schedulers side by side on one problem are `sliceplan inss`."
    )


def _uploaded(name: str, content: bytes) -> TrainingCurve:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "actor.npz"
        path.write_bytes(content)
        return read_training_curve(path, name)


def _in_words(curve: TrainingCurve) -> str:
    if not curve.points:
        return "No evaluation is in it"
    best = max(curve.points, key=lambda one: one.reward)
    said = f"A reward of {best.reward:.1f} a second at best, with {best.late_share:.1%} of the tasks late"
    return said if curve.exact is None else f"{said}; exact plans come to {curve.exact.reward:.1f}"
