"""Fitted models for people to look at: pictures and the report."""
