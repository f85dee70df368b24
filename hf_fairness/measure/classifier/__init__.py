"""Measures of classifiers and of the rows that they are trained on."""
