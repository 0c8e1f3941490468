"""The schedulers, one file each: who gets how many cores, and when."""
