"""GPUs under MPS: which sets of residents fit, listed or generated, and what they mean for the program."""
