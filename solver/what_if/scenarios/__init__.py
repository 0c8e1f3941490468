"""Families of problems that differ in their rates, and how many of them each planner schedules."""
