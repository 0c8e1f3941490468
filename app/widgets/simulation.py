"""Which plan the last simulation was of, for all screens that show it."""

from sliceplan.app.jobs.simulating import Simulated, Traffic
from sliceplan.app.session.kept import Kept
from sliceplan.app.session.session import Session
from sliceplan.solver.model.plan import Plan
from sliceplan.solver.model.simulation_report import SimulationReport

PURPOSE = "simulate"

ASKED = Kept[tuple[Plan, Traffic]]("will_it_hold.asked")
"""Where the session keeps the plan and the traffic of the simulation that was begun last."""


def asked_of(session: Session, plan: Plan) -> Traffic | None:
    """Returns what the last simulation was asked; None: it was of another plan, or there was none."""
    of, traffic = ASKED.of(session, (None, None))
    return traffic if of is plan else None


def simulation_of(session: Session, plan: Plan) -> SimulationReport | None:
    """Returns what the plan did, request by request; None: it was not simulated, or is being simulated anew."""
    found = session.results.get(PURPOSE)
    asked = asked_of(session, plan)
    if found is None or asked is None or not isinstance(found.value, Simulated) or found.value.traffic != asked:
        return None
    return found.value.report
