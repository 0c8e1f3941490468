"""InSS: models that share GPUs under MPS, queue for batches, and carry as many requests/s as they can."""
