"""Problems, plans and sweeps in a database: versions that never change."""
