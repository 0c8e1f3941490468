"""What-if: sliders with a plan at once, sweeps with their steps, the cheapest mix of GPUs, and what matters most."""

from collections.abc import Callable

import streamlit as st

from sliceplan.app.screens.what_if.live import show_live
from sliceplan.app.screens.what_if.mixing import show_mix
from sliceplan.app.screens.what_if.sensitivity import show_sensitivities
from sliceplan.app.screens.what_if.sweeping import show_sweep
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.solver.model.counted import asks_for_capacity

VIEW = Kept[str]("what_if.view")

VIEWS: dict[str, Callable[[Session], None]] = {
    "Sliders": show_live,
    "Sweep": show_sweep,
    "Cheapest fleet": show_mix,
    "Sensitivities": show_sensitivities,
}
"""One at a time, so that a moved slider draws nothing else."""

ABOUT = {
    "Sliders": "Move any of these and see the new plan beside the present one. Your problem stays as it is until you "
    "press *Use these values*.",
    "Sweep": "A sweep plans the fleet at every value of a range, of one thing or two: what it costs there, and which "
    "service forces each step.",
    "Cheapest fleet": "Which mix of GPU types serves the same services for the fewest dollars.",
    "Sensitivities": "What the cost depends on most: each rate, SLO and price, a little lower and a little higher.",
}


def show(session: Session) -> None:
    """Draws the screen."""
    if session.problem is not None and asks_for_capacity(session.problem):
        st.info(
            "This problem asks for most requests/s on its GPUs: a sweep shows what they could carry over a range. The "
            "other views weigh dollars; choose *Fewest dollars* as the aim (*Services and fleet*, Settings) for them."
        )
        show_sweep(session)
        return
    view = st.segmented_control(
        "View",
        list(VIEWS),
        default=VIEW.of(session, "Sliders"),
        required=True,
        key=f"what_if_view_{session.editor}",
        label_visibility="collapsed",
    )
    VIEW.keep(session, view)
    st.caption(ABOUT[view or "Sliders"])
    VIEWS[view or "Sliders"](session)
