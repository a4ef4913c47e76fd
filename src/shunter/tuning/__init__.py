"""Tuning: weights of a score, searched on training days by simulating them."""
