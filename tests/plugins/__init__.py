"""Plugins of schedulers, in the host programs that load them."""
