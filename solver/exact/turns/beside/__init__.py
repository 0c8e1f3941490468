"""GPUs under MPS filled with rounds that slow each other, whole GPUs at a time, by prices of services."""
