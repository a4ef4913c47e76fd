"""Every policy, estimate, dispatch rule and placement by name, and what a text that names one resolves to."""
