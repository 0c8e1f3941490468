"""What if: sweeps and why the cost rises in them, fleet mix, sensitivities, defragmentation."""
