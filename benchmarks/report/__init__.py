"""From the results file to docs/benchmarks.md."""
