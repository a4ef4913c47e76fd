"""Tests of `shunter.cli`."""
