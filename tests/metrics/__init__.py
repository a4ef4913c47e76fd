"""Tests of `shunter.metrics`."""
