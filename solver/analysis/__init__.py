"""Questions beside the cheapest plan: what a fixed fleet carries, what services cost, a plan near what runs."""
