"""Tests of `shunter.model`."""
