"""The GPUs of a node: behind NVML, or simulated."""
