"""``python -m tests.outcomes --write [case ...]``: rewrites the expected files."""

from __future__ import annotations

import argparse
import sys

from tests.outcomes.cases import CASES
from tests.outcomes.doors import Doors
from tests.outcomes.expected_files import differences, write
from tests.outcomes.extract import labels_of


def main() -> None:
    """Runs cases, and says how they differ from the expected files or rewrites these."""
    parser = argparse.ArgumentParser(prog="python -m tests.outcomes", description=__doc__)
    parser.add_argument("--write", action="store_true", help="rewrite the expected files; otherwise only compare")
    parser.add_argument("cases", nargs="*", help="the beginnings of names, as in simulate/ or eta/log; none: all")
    arguments = parser.parse_args()
    beginnings = tuple(arguments.cases)
    chosen = [case for case in CASES if not beginnings or f"{case.command}/{case.name}".startswith(beginnings)]
    if not chosen:
        parser.error(f"no case begins with {' or '.join(beginnings)}; they are in tests/outcomes/cases.py")
    differ = 0
    with Doors() as doors:
        for case in chosen:
            labels = labels_of(case, doors.result(case))
            changed = differences(case, labels)
            print(changed or f"{case.command}/{case.name}: as expected")
            differ += bool(changed)
            if arguments.write and changed:
                write(case, labels)
    sys.exit(differ and not arguments.write)


if __name__ == "__main__":
    main()
