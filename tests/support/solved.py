"""Plans of problems that several tests of a file look at."""

from sliceplan.solver.api import solve


class Solved(dict):
    """
    Plans as JSON by their problems' names, each solved when it is first asked for.

    At import they would be solved by every process that collects the tests, whichever of them runs these.
    """

    def __init__(self, *problems, planners=()):
        """`planners`: the planner of a problem by its name; `exact` plans the others."""
        super().__init__()
        self._problems = {problem.name: problem for problem in problems}
        self._planners = dict(planners)

    def __missing__(self, name):
        self[name] = solve(self._problems[name], self._planners.get(name, "exact")).model_dump_json()
        return self[name]
