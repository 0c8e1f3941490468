"""
How long a batch takes beside those residents of a GPU under MPS that execute at the moment.

The interference model predicts any set of residents. A batch of the plan's size takes the plan's time while all
residents of its GPU are busy (server.py); while some of them rest it goes on faster, by the part that the model gives
for those that do not. iGniter's model is of batches that run over and over (Xu et al. 2022, equations 1 to 11); that it
holds for every moment of a batch is our reading.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np

from ...model.errors import Finding, InputError
from ...model.plan import Plan, PlannedGpu
from ...model.problem import Problem
from ...model.profile import Profile
from ...performance.interference.igniter import IgniterModel
from ...performance.interference.prediction import Floats, InterferenceModel


@dataclass(frozen=True, eq=False)
class Residents:
    """Those who share one GPU under MPS, by the number of their partition; arrays have shape (partition,)."""

    model: InterferenceModel
    """Of the residents, in this order."""
    batch: np.ndarray
    percent: Floats
    """Share of the SMs; 0: nobody is there."""

    def parts(self, busy: np.ndarray) -> Floats:
        """
        Returns what part of the time beside all others a batch takes beside those that are busy.

        Parameters
        ----------
        busy
            Shape (..., partition): who executes.

        Returns
        -------
        Floats
            Shape (..., partition): 1 where nothing changes; of those that rest, 1.
        """
        alike = np.broadcast_to(np.arange(len(self.batch)), busy.shape)
        sizes = np.broadcast_to(self.batch, busy.shape)
        now = self._times(alike, sizes, np.where(busy, self.percent, 0.0))
        always = self._times(np.arange(len(self.batch)), self.batch, self.percent)
        executes = busy & (self.percent > 0)
        return np.where(executes, np.divide(now, always, out=np.ones(busy.shape), where=executes), 1.0)

    def _times(self, workload: np.ndarray, batch: np.ndarray, percent: Floats) -> Floats:
        """Returns the time from a batch to the next one, as server.py reads a plan's; 0: nobody is there."""
        figures = self.model.predict(workload, batch, percent)
        pace = np.divide(1000.0 * batch, figures.throughput_rps, out=np.zeros(percent.shape), where=percent > 0)
        return np.maximum(figures.latency_ms, pace)


def residents_of(problem: Problem, plan: Plan, profiles: Iterable[Profile]) -> dict[str, Residents]:
    """
    Returns the residents of each GPU under MPS that has several, by its id.

    Raises
    ------
    InputError
        With every GPU of which nothing is known that changes with its neighbours' rest.
    """
    known = problem.profiles_over(profiles)
    models = {workload.name: workload.model for workload in problem.workloads}
    shared = [gpu for gpu in plan.gpus if gpu.sharing == "mps" and sum(bool(p.serves) for p in gpu.partitions) > 1]
    if findings := [finding for gpu in shared for finding in _not_known(gpu, models, known)]:
        raise InputError(findings)
    return {gpu.id: _residents(gpu, models, known) for gpu in shared}


def _not_known(
    gpu: PlannedGpu, models: Mapping[str, str], known: Mapping[tuple[str, str], Profile]
) -> Iterator[Finding]:
    for number, partition in enumerate(gpu.partitions):
        where = f"gpus {gpu.id}, partition {number}"
        if partition.duty_cycle_ms is not None:
            message = "has services that take turns; neighbours that rest are simulated where each has a share of its "
            yield Finding("plan", where, f"{message}own: leave out --neighbours")
        for served in partition.serves:
            profile = known.get((models.get(served.workload, ""), gpu.gpu))
            if profile is None or profile.interference is None:
                message = f"serves {served.workload}, of which no profile for {gpu.gpu} has interference coefficients; "
                yield Finding("plan", where, f"{message}fit them, or leave out --neighbours")
            if served.processes > 1:
                message = f"serves {served.workload} by {served.processes} processes, of which the model knows nothing"
                yield Finding("plan", where, f"{message}: leave out --neighbours")


def _residents(gpu: PlannedGpu, models: Mapping[str, str], known: Mapping[tuple[str, str], Profile]) -> Residents:
    """Returns the residents of a GPU; a partition that serves nobody has the first one's figures and no share."""
    first = next(partition.serves[0] for partition in gpu.partitions if partition.serves)
    here = [(partition, partition.serves[0] if partition.serves else first) for partition in gpu.partitions]
    found = [known[models[served.workload], gpu.gpu].interference for _, served in here]
    coefficients = [one for one in found if one is not None]
    return Residents(
        model=IgniterModel.of(coefficients[0].gpu, [one.model for one in coefficients]),
        batch=np.array([served.batch for _, served in here], dtype=np.int64),
        percent=np.array([(partition.sm_percent or 0.0) if partition.serves else 0.0 for partition, _ in here]),
    )
