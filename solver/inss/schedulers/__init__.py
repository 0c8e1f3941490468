"""Who places models, deals units and chooses batches: one file a scheduler."""
