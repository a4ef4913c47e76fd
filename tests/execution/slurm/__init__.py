"""Beside a real Slurm, and on what other versions print."""
