"""Tests of `shunter.advice`."""
