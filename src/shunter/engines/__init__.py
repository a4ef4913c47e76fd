"""Where many tasks of one kind run: one interface, and an implementation of it for each place."""
