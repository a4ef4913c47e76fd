"""Hypothesis settings: those of the property tests, whose profile is loaded when their module is."""

from tests.properties import conftest

__all__ = ["conftest"]
