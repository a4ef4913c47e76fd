"""The core by way of its Python face: its primitives, own policies, windows, and RLScheduler's figures."""
