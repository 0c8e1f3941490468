"""GPU types of a fleet that no plan can count on, as nothing is known of its models' speeds there."""

from sliceplan.solver.model.problem import Problem

from .known import known_profiles


def uncovered(problem: Problem) -> list[str]:
    """Returns the GPU types of a fleet on which no speed of any of its services' models is known, in their order."""
    models = {workload.model for workload in problem.workloads}
    known = {profile.gpu for profile in (*known_profiles(), *problem.profiles) if profile.model in models}
    return [entry.gpu for entry in problem.fleet if entry.gpu not in known]


def left_out_in_words(problem: Problem) -> str:
    """Returns which GPU types of a fleet no plan can count on, and why; empty: there is none."""
    without = uncovered(problem)
    return f"{' and '.join(without)} left out, as no speed of these models is known there" if without else ""
