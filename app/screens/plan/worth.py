"""What a plan is worth: what is bought, what it costs or could carry, and how good that is, in figures and in words."""

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from sliceplan.app.tables.promise import promise_sentence
from sliceplan.app.widgets.boards import show_boards
from sliceplan.app.widgets.texts import literal, sentence
from sliceplan.app.widgets.words import PROMISE
from sliceplan.solver.metrics.capacity_report import capacity_report
from sliceplan.solver.model.judged import Judged, judged
from sliceplan.solver.model.objective import COST, SAME, SOLO_CAPACITY
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.words import boards_in_words
from sliceplan.solver.wording.plain_words import HOURS_A_MONTH, in_plain_words
from sliceplan.solver.wording.summary import adjustment_in_words, whose_prices

from .most_carried import show_services

COST_HELP = "The sum of the GPUs' prices, from the fleet's table or the catalogue."


def show_worth(problem: Problem, plan: Plan, goes_on: bool, alone: Plan | None) -> None:
    """
    Draws them.

    Parameters
    ----------
    goes_on
        A search is improving the plan.
    alone
        The plan with whole GPUs for each service; None: there is none, or nobody asks for it.
    """
    own = judged(plan)
    if own.objective == COST:
        _show_cost(plan, None if goes_on else alone)
    else:
        _show_capacity(plan, own)
    words = in_plain_words(problem, plan)
    lines = [("What to rent", _bought(plan, words.bought))]
    lines += [("What is proven", words.proof), ("What is promised", _promise(problem, plan))]
    lines += [("What limits it", words.limit)] if words.limit and not goes_on else []
    lines += _extras(plan)
    st.markdown("\n".join(f"- **{title}:** {literal(text)}" for title, text in lines if text), help=PROMISE)
    if plan.capacity is not None:
        show_services(capacity_report(problem, plan))
        if own.objective == SOLO_CAPACITY:
            st.caption("A GPU's worth of a service is what one GPU carries of it alone.")


def _promise(problem: Problem, plan: Plan) -> str:
    said = promise_sentence(problem, plan)
    return said and sentence(said)


def _bought(plan: Plan, words: str) -> str:
    """Returns what is rented, and at whose prices."""
    whose = whose_prices(plan)
    return f"{words.removesuffix('.')}, {whose}." if words and whose else words


def _show_saved(place: DeltaGenerator, plan: Plan, alone: Plan | None) -> None:
    """Draws how much less it costs than a whole GPU, or several, for each service; nothing where it does not."""
    if alone is None or not alone.cost_per_hour or plan.cost_per_hour is None:
        return
    less = alone.cost_per_hour - plan.cost_per_hour
    if less >= 0.005:
        place.metric(
            "Sharing saves per month",
            f"${less * HOURS_A_MONTH:,.0f}",
            help=f"against whole GPUs for each service: {boards_in_words(alone.gpus)}, ${alone.cost_per_hour:,.2f} per "
            "hour",
        )


def _show_capacity(plan: Plan, own: Judged) -> None:
    """The most requests/s on the GPUs that there are; what they cost is a fact beside it."""
    carries, gpus, most, gap = st.columns(4)
    hourly = plan.cost_per_hour
    carries.metric(
        f"Could carry, {own.objective.unit}",
        "unknown" if own.value is None else own.objective.figure(own.value),
        help="what all partitions could carry within the SLOs, together. It is not what they are asked to serve.",
    )
    show_boards(gpus, plan.gpus, help_text="unknown" if hourly is None else f"${hourly:,.2f} per hour. {COST_HELP}")
    most.metric(
        f"Proven most, {own.objective.unit}",
        "unknown" if own.bound is None else own.objective.figure(own.bound),
        help="No plan at all could carry more on these GPUs. The limit follows from the problem alone.",
    )
    gap.metric(
        "Below the most",
        "unknown" if own.gap is None else f"{own.gap:.1%}",
        help="the gap: at most so much of the most is between this plan and the best one",
    )
    if plan.capacity is not None and plan.capacity.one_more:
        with_more = [
            f"with one more {gpu} {own.objective.bound_in_words(limit)}"
            for gpu, limit in plan.capacity.one_more.items()
        ]
        st.caption(literal(f"What one more GPU is worth, which is proven: {'; '.join(with_more)}."))


def _show_cost(plan: Plan, alone: Plan | None) -> None:
    """The fewest dollars: what the headline, with GPUs and cost per hour, does not say."""
    month, saved, least, gap = st.columns(4)
    bound, hourly = plan.bound.cost_per_hour, plan.cost_per_hour
    monthly = None if hourly is None else hourly * HOURS_A_MONTH
    month.metric(
        "Cost per month",
        "unknown" if monthly is None else f"${monthly:,.0f}",
        help=None if monthly is None else f"{HOURS_A_MONTH} hours; ${12 * monthly:,.0f} per year. {COST_HELP}",
    )
    _show_saved(saved, plan, alone)
    if plan.gap is not None and plan.gap <= SAME:
        return
    least.metric(
        "Proven least per hour",
        "unknown" if bound is None else f"${bound:,.2f}",
        help="No plan at all costs less. The limit follows from the problem alone, so it holds for plans that nobody "
        "looked at; the plan's file names the argument.",
    )
    gap.metric(
        "Above the least",
        "unknown" if plan.gap is None else f"{plan.gap:.1%}",
        help="the gap: the best plan costs at most so much less, in percent of the least",
    )


def _extras(plan: Plan) -> list[tuple[str, str]]:
    """Returns what is paid for besides serving, and what is gained."""
    extras = []
    if plan.shadow is not None and plan.shadow.extra_cost_per_hour is not None:
        extras.append(
            (
                "Standby processes",
                f"{plan.shadow.percent:g} % of each MPS GPU is kept free for them, which costs "
                f"${plan.shadow.extra_cost_per_hour:,.2f} per hour of it, "
                f"${plan.shadow.extra_cost_per_hour * HOURS_A_MONTH:,.0f} per month.",
            )
        )
    if plan.insurance is not None and plan.insurance.extra_cost_per_hour is not None:
        extras.append(
            (
                "Kept free against trouble",
                f"partitions that cost ${plan.insurance.extra_cost_per_hour:,.2f} per hour of it, "
                f"${plan.insurance.extra_cost_per_hour * HOURS_A_MONTH:,.0f} per month.",
            )
        )
    if plan.batch_adjustment is not None:
        extras.append(("Batches chosen anew under MPS", f"{adjustment_in_words(plan, plan.batch_adjustment)}."))
    return extras
