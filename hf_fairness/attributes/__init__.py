"""Attributes as values: an attribute has groups, a group has terms, all read from ``data/*.json``.

A new attribute is one JSON file and no code. The layout of a file is described in
:mod:`hf_fairness.attributes.schema`, what code sees in :mod:`hf_fairness.attributes.model`.
"""

from hf_fairness.attributes.loading import available_attributes, load_attribute
from hf_fairness.attributes.model import Attribute, Concept, Group, InherentTerm, NamePair, Paradigm, Term
from hf_fairness.attributes.names import NameTable, load_names
from hf_fairness.attributes.schema import AttributeFileError, parse_attribute

__all__ = [
    "Attribute",
    "AttributeFileError",
    "Concept",
    "Group",
    "InherentTerm",
    "NamePair",
    "NameTable",
    "Paradigm",
    "Term",
    "available_attributes",
    "load_attribute",
    "load_names",
    "parse_attribute",
]
