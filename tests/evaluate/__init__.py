"""Tests of `shunter.evaluate`."""
