"""GPUs under MPS whose residents slow each other down while they execute, and only then."""
