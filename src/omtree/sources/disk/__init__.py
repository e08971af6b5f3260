"""Rows that stay on disk: a scan of files, what DuckDB counts in them, and the samples of a fit made of that."""
