"""Problems and plans that tests begin with: published, small, or drawn at random."""
