"""A link over work of somebody: asked before it is opened."""
