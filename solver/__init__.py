"""The planner: a library and a command line."""
