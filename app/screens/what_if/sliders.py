"""The sliders of a what-if: for all services, for the GPU types, and for chosen services."""

import streamlit as st

from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.app.session.shown import names_shown
from sliceplan.app.tables.labels import SETTINGS
from sliceplan.app.widgets.texts import literal
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.price_book import GpuPrice
from sliceplan.solver.model.prices import price_words, prices_of
from sliceplan.solver.model.problem import FleetEntry, Problem, Workload
from sliceplan.solver.model.what_if import WhatIf
from sliceplan.solver.wording.shown_names import shown_name

MOST_CHOSEN = 6
"""Services with sliders of their own at a time."""

CHOSEN = Kept[list[str]]("what_if.services")

MOST_RPS, MOST_MS, MOST_USD, MOST_GPUS = 1e7, 1e9, 1e6, 10_000_000
"""The limits of what a problem may state (solver/model/what_if.py)."""

SERVICE_KINDS = ("rates", "slos", "headrooms")


def edited_changes(session: Session, base: Problem, plan: Plan, changes: WhatIf) -> WhatIf:
    """Draws the sliders at the present changes, and returns what they state now."""
    key = f"what_if_{session.editor}_"
    st.markdown("**All services**")
    rate = _factor("Every rate", changes.rate, key + "rate", _described("rate"))
    slo = _factor("Every SLO (less is stricter)", changes.slo, key + "slo", _described("slo"))
    own = base.settings.headroom
    headroom = _headroom("Headroom", own if changes.headroom is None else changes.headroom, key + "headroom")
    st.markdown("**GPUs**")
    known_prices = {price.gpu: price for price in prices_of(base)}
    prices: dict[str, float] = {}
    counts: dict[str, int] = {}
    for entry in base.fleet:
        known = known_prices.get(entry.gpu)
        price = None if known is None else _price(known, changes, key)
        if price is not None:
            prices[entry.gpu] = price
        count = _count(entry, changes, plan, key)
        if count is not None:
            counts[entry.gpu] = count
    of_services = _of_services(session, base, changes, key)
    return WhatIf(
        rate=rate,
        slo=slo,
        headroom=None if headroom == own else headroom,
        prices=prices,
        counts=counts,
        **of_services,
    )


def _of_services(session: Session, base: Problem, changes: WhatIf, key: str) -> dict[str, dict[str, float]]:
    st.markdown("**Single services**")
    by_name = {workload.name: workload for workload in base.workloads}
    changed = [name for kind in SERVICE_KINDS for name in getattr(changes, kind)]
    kept = [name for name in CHOSEN.of(session, []) if name in by_name]
    chosen = st.multiselect(
        "Services to change by themselves",
        list(by_name),
        default=list(dict.fromkeys(changed + kept))[:MOST_CHOSEN],
        format_func=names_shown(session, base),
        max_selections=MOST_CHOSEN,
        key=key + "services",
        placeholder="Choose services",
        help="What is set for a service replaces what is set for all.",
    )
    CHOSEN.keep(session, chosen)
    found: dict[str, dict[str, float]] = {kind: {} for kind in SERVICE_KINDS}
    for name in chosen:
        _of_service(by_name[name], base, changes, key, found)
    return found


def _of_service(
    workload: Workload, base: Problem, changes: WhatIf, key: str, found: dict[str, dict[str, float]]
) -> None:
    name = workload.name
    st.caption(f"**{literal(shown_name(workload))}** ({literal(workload.model)})")
    all_headroom = base.settings.headroom if changes.headroom is None else changes.headroom
    rate = _amount("Rate, requests/s", workload.rate_rps, changes.rates.get(name), MOST_RPS, f"{key}rate_{name}")
    slo = _amount("SLO, ms", workload.slo_ms, changes.slos.get(name), MOST_MS, f"{key}slo_{name}")
    headroom = _headroom("Headroom", changes.headrooms.get(name, all_headroom), f"{key}headroom_{name}")
    if rate != workload.rate_rps:
        found["rates"][name] = rate
    if slo != workload.slo_ms:
        found["slos"][name] = slo
    if headroom != all_headroom:
        found["headrooms"][name] = headroom


def _factor(label: str, value: float, key: str, text: str | None) -> float:
    low, high = min(0.1, value), max(4.0, value)
    return st.slider(label, low, high, value, 0.05, format="x %.2f", key=key, help=text)


def _headroom(label: str, value: float, key: str) -> float:
    percent = round(100 * value, 6)
    found = st.slider(
        f"{label}, %",
        0.0,
        max(100.0, percent),
        percent,
        5.0,
        format="%g %%",
        key=key,
        help=SETTINGS["headroom"].meaning,
    )
    return value if found == percent else found / 100


def _amount(label: str, own: float, changed: float | None, most: float, key: str) -> float:
    value = own if changed is None else changed
    low, high = min(0.1 * own, value), max(min(4 * own, most), value)
    return st.slider(label, low, high, value, own / 20, format="%.4g", key=key, help=f"now {own:g}")


def _price(known: GpuPrice, changes: WhatIf, key: str) -> float | None:
    own = known.usd_per_hour
    value = changes.prices.get(known.gpu, own)
    price = st.slider(
        f"{known.gpu}, USD per hour",
        min(0.25 * own, value),
        max(min(3 * own, MOST_USD), value),
        value,
        0.01,
        format="$%.2f",
        key=f"{key}price_{known.gpu}",
        help=f"now ${own:,.2f} ({price_words([known])})",
    )
    return None if price == own else price


def _count(entry: FleetEntry, changes: WhatIf, plan: Plan, key: str) -> int | None:
    own = entry.available
    changed = changes.counts.get(entry.gpu)
    if own is None:
        limited = st.toggle(
            f"Limit the number of {entry.gpu}", value=changed is not None, key=f"{key}limit_{entry.gpu}"
        )
        if not limited:
            return None
    used = sum(gpu.gpu == entry.gpu for gpu in plan.gpus)
    value = next(count for count in (changed, own, used) if count is not None)
    label, place = f"{entry.gpu}, number", f"{key}count_{entry.gpu}"
    if own is None:  # no end of a slider would be right
        return int(st.number_input(label, 0, MOST_GPUS, value, key=place, help=f"the plan uses {used}"))
    most = max(min(2 * max(own, used), MOST_GPUS), value, 4)
    count = st.slider(label, 0, most, value, key=place, help=f"the plan uses {used} of {own}")
    return None if count == own else count


def _described(field: str) -> str | None:
    return WhatIf.model_fields[field].description
