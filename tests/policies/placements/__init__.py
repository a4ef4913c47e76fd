"""Tests of the placements that live in Python."""
