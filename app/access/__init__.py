"""Who uses the page, what they may do, and what its server refuses."""
