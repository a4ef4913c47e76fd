"""Tests of `shunter.studies`."""
