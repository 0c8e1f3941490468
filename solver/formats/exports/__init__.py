"""Forms that other tools take a plan in; a module each."""
