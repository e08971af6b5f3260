"""What the texts of a column mean: numbers, dates, times, missing cells; and which columns merely name their rows."""
