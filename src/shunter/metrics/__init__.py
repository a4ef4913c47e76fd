"""Metrics of a schedule, and the reasons behind them: explanations, calibration, run folders."""
