"""The optimum by another formulation, language and solver, with no modelling code of the other rooms."""
