"""Runs the command line: ``python -m shunter``."""

from shunter.cli import main

if __name__ == "__main__":
    main()
