"""Tests of running jobs for real."""
