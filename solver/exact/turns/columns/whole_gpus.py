"""The cheapest GPUs that have the partitions which contents stand on, in whole numbers."""

from collections import Counter
from collections.abc import Mapping, Sequence

from ortools.math_opt.python import mathopt

from ...backends.highs import run_highs
from ...cost_lattice import CostLattice
from .slots import Content
from .time_shares import Cut


def gpus_for(
    contents: Sequence[Content],
    cuts: Sequence[Cut],
    available: Mapping[str, int | None],
    lattice: CostLattice,
    time_limit_s: float,
) -> list[int] | None:
    """
    Returns how many GPUs are cut in each way; None: none were found that have all partitions.

    Parameters
    ----------
    available
        GPU type -> how many there are; None: as many as needed.
    """
    needed = Counter(one.slot for one in contents)
    model = mathopt.Model(name="whole GPUs")
    used = [model.add_integer_variable(lb=0, ub=float(len(contents))) for _ in cuts]
    for k, number in needed.items():
        there = mathopt.LinearSum(cut.counts.get(k, 0) * x for cut, x in zip(cuts, used, strict=True))
        model.add_linear_constraint(there >= number)
    for gpu, most in available.items():
        if most is not None:
            own = mathopt.LinearSum(x for cut, x in zip(cuts, used, strict=True) if cut.gpu == gpu)
            model.add_linear_constraint(own <= most)
    model.minimize(mathopt.LinearSum(lattice.coefficient[cut.gpu] * x for cut, x in zip(cuts, used, strict=True)))
    result = run_highs(model, time_limit_s, absolute_gap=lattice.absolute_gap)
    if not result.has_primal_feasible_solution():
        return None
    values = result.variable_values()
    return [round(values[x]) for x in used]
