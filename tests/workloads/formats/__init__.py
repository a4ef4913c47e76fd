"""Tests of `shunter.workloads.formats`."""
