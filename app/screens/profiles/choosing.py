"""Which profile is looked at: a model and a GPU type."""

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.own_profiles import profiles_of
from sliceplan.app.session.session import Session
from sliceplan.solver.model.profile import Profile, merged

GPU = Kept[str]("profiles.gpu")

MODEL = Kept[str]("profiles.model")


def choose_profile(session: Session) -> Profile:
    """Lets the user choose a profile; those of the problem come first."""
    known = merged(profiles_of(session))
    problem = session.problem
    asked = list(dict.fromkeys(workload.model for workload in problem.workloads)) if problem else []
    fleet = [entry.gpu for entry in problem.fleet] if problem else []
    models = list(
        dict.fromkeys([*(m for m in asked if any(m == key[0] for key in known)), *sorted({m for m, _ in known})])
    )
    left, right = st.columns(2)
    last = MODEL.of(session)
    model = left.selectbox(
        "Model",
        models,
        models.index(last) if last in models else 0,
        format_func=lambda name: f"{name} (in the problem)" if name in asked else name,
        key="profile_model",
    )
    types = [gpu for name, gpu in known if name == model]
    types.sort(key=lambda gpu: fleet.index(gpu) if gpu in fleet else len(fleet))
    last = GPU.of(session)
    gpu = right.selectbox(
        "GPU type",
        types,
        types.index(last) if last in types else 0,
        format_func=lambda name: f"{name} (in the fleet)" if name in fleet else name,
        key=f"profile_gpu_{model}",
    )
    MODEL.keep(session, model)
    GPU.keep(session, gpu)
    return known[model, gpu]


def look_at(session: Session, profile: Profile) -> None:
    """Chooses a profile; from a callback, before the choices are drawn."""
    MODEL.keep(session, profile.model)
    GPU.keep(session, profile.gpu)
    st.session_state["profile_model"] = profile.model
    st.session_state[f"profile_gpu_{profile.model}"] = profile.gpu
