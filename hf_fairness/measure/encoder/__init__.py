"""Measures of text encoders."""
