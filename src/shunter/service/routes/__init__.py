"""One file a group of addresses; each has a `router`."""
