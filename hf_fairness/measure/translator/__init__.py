"""Measures of translators."""
