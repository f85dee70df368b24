"""A training that diverges ends with an error, whichever trainer it is, and leaves no broken model behind."""

from __future__ import annotations
