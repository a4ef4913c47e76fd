"""Modules of higher layers that lower layers call; `shunter` itself, which may import from all layers, names them."""

from __future__ import annotations

learned_runner = ""
"""Runs learned policies: `shunter.simulation.learned.LearnedRunner`."""
evaluator_loader = ""
"""Loads networks that the core does not know: `shunter.simulation.learned.EvaluatorLoader`."""
site_simulator = ""
"""Simulates the past of generated logs: `shunter.workloads.generators.SiteSimulator`."""
