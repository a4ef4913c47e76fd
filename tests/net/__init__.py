"""The networks of the core, held to those of PyTorch."""
