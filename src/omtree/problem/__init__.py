"""What an engine is asked: a table, the graph over it, what a rule costs and what it must respect."""
