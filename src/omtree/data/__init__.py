"""Frames and arrays in, coded and merged table out."""
