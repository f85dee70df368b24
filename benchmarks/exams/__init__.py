"""Exams: questions that were written down before what they ask for was built."""
