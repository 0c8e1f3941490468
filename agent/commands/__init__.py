"""The commands of `sliceplan-agent`, a file each."""
