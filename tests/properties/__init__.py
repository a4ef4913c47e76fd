"""Random small clusters and workloads: the core equals the reference, and both keep the invariants."""
