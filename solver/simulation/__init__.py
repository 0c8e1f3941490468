"""A plan carried out request by request: arrivals, dispatch, batches, and what its users would see."""
