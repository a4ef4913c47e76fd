"""Every policy, estimate, dispatch rule and placement, by name."""
