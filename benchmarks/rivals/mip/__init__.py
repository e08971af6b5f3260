"""Optimal trees as plain mixed-integer programs for HiGHS, written from the papers' mathematics."""
