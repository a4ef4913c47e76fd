"""Tests of `shunter.workloads.text`."""
