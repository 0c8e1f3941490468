"""One click for models without a profile on a GPU type: the whole curve, estimated from another type."""

from collections.abc import Mapping, Sequence
from functools import partial

import streamlit as st

from sliceplan.app.profiles.estimating import estimates, in_words
from sliceplan.app.session.own_profiles import profiles_of, use_estimates
from sliceplan.app.session.session import Session

from .memo import made_once
from .texts import literal


def offer_estimates(session: Session, missing: Mapping[str, Sequence[str]]) -> None:
    """Draws a button for each GPU type on which something can be estimated; `missing`: models by GPU type."""
    for gpu, models in missing.items():
        profiles = profiles_of(session)
        of = (tuple(models), session.tables.profiles)
        made = made_once(f"estimates.{gpu}", of, partial(estimates, gpu, models, profiles))
        if made:
            st.button(
                literal(in_words(gpu, made)),
                key=f"estimate_{gpu}",
                on_click=use_estimates,
                args=(session, gpu, made),
                help="by the ratios of SMs, clock, tensor throughput and memory bandwidth, the most cautious of them, "
                "MIG sizes included; marked as estimated wherever it is used. Undo takes it back.",
            )
