"""Programs from arrays: thousands of variables that Python never touches one by one."""

import numpy as np
from ortools.math_opt import model_pb2

from ...performance.interference.prediction import Floats
from .sparse_rows import SparseRows


def program_of(
    rows: SparseRows,
    lower: Floats,
    upper: Floats,
    most: Floats,
    *,
    name: str,
    least: Floats | None = None,
    integer: bool = True,
) -> model_pb2.ModelProto:
    """
    Returns the program  lower <= rows x <= upper,  least <= x <= most,  without an objective, as MathOpt writes it.

    `mathopt.Model.from_model_proto` makes a model of it, to which variables and constraints can be added; those that
    are there have the numbers of the columns and rows.

    Parameters
    ----------
    rows
        Shape (constraint, variable).
    lower, upper
        Shape (constraint,); -inf and inf: none.
    most
        Shape (variable,); inf: none.
    least
        Likewise; None: 0.
    integer
        Whether x is integer.
    """
    constraints, variables = rows.shape
    columns = model_pb2.VariablesProto(
        ids=range(variables),
        lower_bounds=np.zeros(variables) if least is None else least,
        upper_bounds=most,
        integers=np.full(variables, integer),
    )
    limits = model_pb2.LinearConstraintsProto(ids=range(constraints), lower_bounds=lower, upper_bounds=upper)
    proto = model_pb2.ModelProto(name=name, variables=columns, linear_constraints=limits)
    matrix = proto.linear_constraint_matrix
    matrix.row_ids.extend(rows.row)
    matrix.column_ids.extend(rows.column)
    matrix.coefficients.extend(rows.value)
    return proto
