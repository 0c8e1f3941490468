"""What `sliceplan-agent status` finds out and says."""
