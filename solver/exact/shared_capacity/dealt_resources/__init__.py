"""A limit of most capacity under MPS from prices of what GPUs have, whatever the number of services."""
