"""When a server sends which batch: a module a policy, each of which is but a row of numbers (rule.py)."""
