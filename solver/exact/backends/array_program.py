"""Integer programs from arrays: a program of thousands of variables that Python never touches one by one."""

import numpy as np
from ortools.math_opt import model_pb2
from ortools.math_opt.python import mathopt
from scipy import sparse

from ...performance.interference.prediction import Floats


def program_of(rows: sparse.csr_array, lower: Floats, upper: Floats, most: Floats, *, name: str) -> mathopt.Model:
    """
    Returns the program  lower <= rows x <= upper,  0 <= x <= most,  x integer,  without an objective.

    Variables and constraints have the numbers of the columns and rows; more of both can be added.

    Parameters
    ----------
    rows
        Shape (constraint, variable).
    lower, upper
        Shape (constraint,); -inf and inf: none.
    most
        Shape (variable,); inf: none.
    """
    rows.sort_indices()
    constraints, variables = rows.shape
    columns = model_pb2.VariablesProto(
        ids=range(variables),
        lower_bounds=np.zeros(variables),
        upper_bounds=most,
        integers=np.ones(variables, dtype=bool),
    )
    limits = model_pb2.LinearConstraintsProto(ids=range(constraints), lower_bounds=lower, upper_bounds=upper)
    proto = model_pb2.ModelProto(name=name, variables=columns, linear_constraints=limits)
    matrix = proto.linear_constraint_matrix
    matrix.row_ids.extend(np.repeat(np.arange(constraints), np.diff(rows.indptr)))
    matrix.column_ids.extend(rows.indices)
    matrix.coefficients.extend(rows.data)
    return mathopt.Model.from_model_proto(proto)
