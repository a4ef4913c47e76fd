"""Damaged files of every kind that Shunter reads: ``python -m tests.fuzz --count 200000 --seed 1``."""
