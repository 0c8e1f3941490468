"""The page: problems stated, plans shown and compared. Holds no algorithm."""
