"""What a worker is asked for by "Layers on cores"; the schedulers are loaded there only."""

from sliceplan.solver.model.cores_report import CoresReport
from sliceplan.solver.model.layer_times import LayeredModel

QUERIES = 600


def schedulers_compared(model: LayeredModel, slo_ms: float, cores: int) -> CoresReport:
    """Returns what each scheduler carries of a model on a CPU of so many cores; errors as `compared` has them."""
    from sliceplan.solver.cores.comparing import Trial, compared
    from sliceplan.solver.cores.runtimes.timetable import Machine
    from sliceplan.solver.cores.schedulers.registry import schedulers

    trial = Trial(Machine(cores, GROW_MS), queries=QUERIES)
    return compared([model], {model.model: slo_ms}, list(schedulers().values()), trial)


GROW_MS = 0.22
"""How long a query stands still when it is given more cores, the mean of VELTAIR's measurements (4.3)."""
