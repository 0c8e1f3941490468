"""Records: problems, profiles, plans, transitions, hardware; what they mean alone, without any search."""
