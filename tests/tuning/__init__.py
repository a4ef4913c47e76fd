"""Tests of `shunter.tuning`."""
