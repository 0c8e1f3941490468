"""How services on one GPU slow each other down."""
