"""Plans around what runs: what may stay, the trade of cost against moves, and the plan of an answer."""
