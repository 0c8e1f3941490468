"""The program over covers in arrays, entry by entry."""

from math import inf
from types import SimpleNamespace

import numpy as np

from sliceplan.solver.exact.dual.supply import Supply
from sliceplan.solver.exact.primal.master_program import master_program


def test_it_has_the_classes_the_sizes_and_the_types_that_are_few():
    """Two classes of one and two covers; three cuts of two types, of the second of which there are five."""
    counts = np.array([[1, 0], [0, 2], [3, 1]])
    classes = SimpleNamespace(covers=np.array([1, 2]), counts=counts, members=np.array([4, 7]))
    instances = np.array([[2, 0], [0, 1], [1, 1]])
    supply = Supply(instances, np.array([0, 1, 1]), np.array([3.0, 4.0, 4.0]), np.array([inf, 5.0]))
    program = master_program(classes, supply, np.array([10, 20]))
    dense = np.zeros(program.rows.shape)
    dense[program.rows.row, program.rows.column] = program.rows.value
    assert dense.tolist() == [
        [0, 0, 0, 1, 0, 0],
        [0, 0, 0, 0, 1, 1],
        [2, 0, 1, -1, 0, -3],
        [0, 1, 1, 0, -2, -1],
        [0, 1, 1, 0, 0, 0],
    ]
    assert program.lower.tolist() == [4, 7, 10, 20, -inf]
    assert program.upper.tolist() == [4, 7, inf, inf, 5]
    assert program.most.tolist() == [inf, inf, inf, 4, 7, 7]
    assert (program.cuts, program.row_of_type) == (3, {1: 4})
