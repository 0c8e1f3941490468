"""GPUs behind NVML, NVIDIA's management library."""
