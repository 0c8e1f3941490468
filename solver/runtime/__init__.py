"""While a search runs: how long it may, what interrupts it, its best answer so far, its progress, its memory."""
