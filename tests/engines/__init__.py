"""Tests of `shunter.engines`."""
