"""The way from samples to a checked model."""
