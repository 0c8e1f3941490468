"""What stands in for hardware, servers and tools of others."""
