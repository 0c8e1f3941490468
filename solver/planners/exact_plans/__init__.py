"""
The exact planner, a module for each kind of problem: from what its search finds and proves to a plan.

Each is imported by the problems that need it (planners/exact.py): all of them take as long as a small plan.
"""
