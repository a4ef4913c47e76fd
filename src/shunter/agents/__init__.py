"""Agents that learn to schedule: algorithms, networks, the training loop and what it leaves behind."""
