"""The node agent: brings the GPUs of a node to what a plan wants, and keeps them there."""
