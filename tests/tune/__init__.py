"""Tests of `shunter.tune`."""
