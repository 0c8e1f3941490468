"""When to plan anew, and for which rates: a module for each policy."""
