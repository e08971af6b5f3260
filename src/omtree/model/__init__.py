"""What a fitted model is made of, and what is known about it."""
