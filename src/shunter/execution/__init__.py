"""Running jobs for real: one loop (snapshot, decide, guard, act, journal) for every backend, and the backends."""
