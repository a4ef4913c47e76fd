"""The border between Python, C and the core: the header, the stub, and hostile callers."""
