"""Working beside a scheduler that goes on dispatching: modes, bounds, audit, undo, and the cycle that joins them."""
