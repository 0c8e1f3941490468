"""
The library's front door: everything that programs ask of sliceplan, by the names in `__all__`.

A name is loaded when it is first asked for, so that asking for one thing does not load the solvers of all others.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ..check import check
    from .comparing import Comparison, compare
    from .counted_fleets import Headroom, Shedding, capacity, headroom, shed
    from .exporting import export_formats
    from .finishing import WrongPlanError
    from .moving import WrongTransitionError, replan, transition
    from .planners import planner_facts, planner_names, planner_sources, planners_for
    from .planning import solve
    from .pricing import price
    from .routers import plans_by_router
    from .simulating import SimulationSettings, simulate
else:

    def __getattr__(name: str) -> Any:
        """Returns what has this name in the module that defines it."""
        if name not in _HOME:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        return getattr(import_module(_HOME[name], __name__), name)


__all__ = [
    "Comparison",
    "Headroom",
    "Shedding",
    "SimulationSettings",
    "WrongPlanError",
    "WrongTransitionError",
    "capacity",
    "check",
    "compare",
    "export_formats",
    "headroom",
    "planner_facts",
    "planner_names",
    "planner_sources",
    "planners_for",
    "plans_by_router",
    "price",
    "replan",
    "shed",
    "simulate",
    "solve",
    "transition",
]

_HOME = {
    **dict.fromkeys(("Headroom", "Shedding", "capacity", "headroom", "shed"), ".counted_fleets"),
    **dict.fromkeys(("Comparison", "compare"), ".comparing"),
    **dict.fromkeys(("WrongTransitionError", "replan", "transition"), ".moving"),
    **dict.fromkeys(("planner_facts", "planner_names", "planner_sources", "planners_for"), ".planners"),
    **dict.fromkeys(("SimulationSettings", "simulate"), ".simulating"),
    "WrongPlanError": ".finishing",
    "check": "..check",
    "export_formats": ".exporting",
    "plans_by_router": ".routers",
    "price": ".pricing",
    "solve": ".planning",
}
"""Where each name is defined."""
