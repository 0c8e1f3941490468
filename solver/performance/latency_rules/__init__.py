"""Which operating points keep an SLO, and up to which rate: one module a rule, said nowhere else."""
