"""One round of services that take turns, as a strip: who runs when, and waiting and execution against each SLO."""

from dataclasses import dataclass

import plotly.graph_objects as go

from sliceplan.solver.model.plan import Partition, Plan, PlannedGpu
from sliceplan.solver.model.problem import Problem
from sliceplan.solver.model.words import counted
from sliceplan.solver.performance.turns.rounds import longest_ms, request_may_take_ms
from sliceplan.solver.wording.rounds import round_in_words

from .colours import FREE, MISSES, SERVICES
from .service_colours import service_colours
from .texts import in_chart

ROW_PX = 46


@dataclass(frozen=True)
class Round:
    """A partition on which services take turns, or one sends a batch every so often."""

    gpu: PlannedGpu
    partition: Partition
    duty_cycle_ms: float

    @property
    def name(self) -> str:
        """Where it is and who takes turns, as a list names it."""
        who = " and ".join(one.workload for one in self.partition.serves)
        where = self.partition.mig_profile or (
            "whole" if self.partition.sm_percent is None else f"{self.partition.sm_percent:g} %"
        )
        return f"{self.gpu.id}, {where}: {who}{round_in_words(self.partition).replace(', in turn', '')}"


def rounds_of(plan: Plan) -> list[Round]:
    """Returns the rounds of a plan in its order; empty: nobody takes turns."""
    return [
        Round(gpu, partition, partition.duty_cycle_ms)
        for gpu in plan.gpus
        for partition in gpu.partitions
        if partition.duty_cycle_ms is not None and partition.serves
    ]


def round_chart(shown: Round, problem: Problem, plan: Plan) -> go.Figure:
    """
    Returns a row for the round, and one for each service: the longest that a request waits and is executed.

    In any order the strip is one example, and the longest is that of the last one of a round.
    """
    colours = service_colours((one.name for one in problem.workloads), plan)
    slo_ms = {one.name: one.slo_ms for one in problem.workloads}
    serves = shown.partition.serves
    longest = longest_ms(shown.duty_cycle_ms, [one.latency_ms for one in serves], shown.partition.turns or "fixed")
    rows = ["one round", *(in_chart(one.workload) for one in serves)]
    figure = go.Figure()
    at = 0.0
    for one in serves:
        colour = SERVICES[colours[one.workload]]
        name = in_chart(one.workload)
        runs = f"<b>{name}</b><br>a batch of {one.batch} from {at:.1f} to {at + one.latency_ms:.1f} ms"
        _add(figure, 0, at, one.latency_ms, colour, runs, name)
        at += one.latency_ms
    if at < shown.duty_cycle_ms:
        left = shown.duty_cycle_ms - at
        _add(figure, 0, at, left, FREE, f"nobody runs for {left:.1f} ms", "nobody runs")
    for row, (one, whole) in enumerate(zip(serves, longest, strict=True), 1):
        waits, name = whole - one.latency_ms, in_chart(one.workload)
        wait = f"<b>{name}</b><br>waits at most {waits:.1f} ms"
        run = f"<b>{name}</b><br>is executed in {one.latency_ms:.1f} ms, after {whole:.1f} ms at most"
        _add(figure, row, 0.0, waits, FREE, wait, "waits at most")
        _add(figure, row, waits, one.latency_ms, SERVICES[colours[one.workload]], run, name)
        if one.workload in slo_ms:
            may = request_may_take_ms(problem.settings, slo_ms[one.workload])
            said = f"<b>{name}</b><br>may take {may:g} ms of its SLO of {slo_ms[one.workload]:g} ms"
            figure.add_scatter(
                x=[may, may],
                y=[row - 0.42, row + 0.42],
                mode="lines",
                line={"color": MISSES, "width": 3},
                name="may take",
                legendgroup="may take",
                showlegend=row == 1,
                hovertext=said,
                hoverinfo="text",
            )
    figure.update_layout(
        barmode="overlay",
        height=110 + ROW_PX * len(rows),
        margin={"l": 10, "r": 10, "t": 50, "b": 40},
        legend={"orientation": "h", "yref": "container", "yanchor": "top", "y": 1.0, "x": 0},
        xaxis={"title": "ms", "rangemode": "tozero", "fixedrange": True},
        yaxis={
            "tickmode": "array",
            "tickvals": list(range(len(rows))),
            "ticktext": rows,
            "range": [len(rows) - 0.5, -0.5],
            "fixedrange": True,
            "showgrid": False,
        },
    )
    return figure


def _add(figure: go.Figure, row: int, base: float, width: float, colour: str, hover: str, name: str) -> None:
    """Adds a bar; the first of a name stands in the legend."""
    figure.add_bar(
        orientation="h",
        y=[row],
        base=[base],
        x=[width],
        width=0.7,
        name=name,
        legendgroup=name,
        showlegend=name not in {trace.name for trace in figure.data},
        marker={"color": colour},
        hovertext=[hover],
        hovertemplate="%{hovertext}<extra></extra>",
    )


def rounds_in_words(rounds: list[Round]) -> str:
    """Returns how many partitions serve in rounds, and how long those are."""
    shortest, longest = (pick(one.duty_cycle_ms for one in rounds) for pick in (min, max))
    length = f"{shortest:.4g} ms" if shortest == longest else f"{shortest:.4g} to {longest:.4g} ms"
    return f"On {counted(len(rounds), 'partition')} services take turns, in rounds of {length}."
