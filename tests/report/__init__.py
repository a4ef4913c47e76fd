"""Tests of `shunter.report`."""
