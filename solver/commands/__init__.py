"""The commands of `sliceplan`, by topic."""
