"""Tests of `shunter.comparison`."""
