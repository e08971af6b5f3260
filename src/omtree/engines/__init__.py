"""Which engine solves what, and how its answer is read."""
