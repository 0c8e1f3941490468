"""Many services that take turns: contents of partitions as columns, found by prices."""
