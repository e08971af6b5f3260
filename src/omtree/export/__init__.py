"""Fitted models in files and other languages."""
