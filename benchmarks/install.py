"""Size and time of an installation from the wheel, in empty environments: the base, and the base with each extra.

    make wheel && python benchmarks/install.py

Prints megabytes on disk (without pip and setuptools) and seconds of pip, whose downloads depend on the network.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
import venv
from pathlib import Path
from tempfile import TemporaryDirectory

EXTRAS = ("", "plot", "milp", "serve", "ray", "learn", "all")
LEFT_OUT = ("pip", "setuptools", "_distutils_hack", "pkg_resources", "distutils-precedence.pth")


def main() -> None:
    """Installs the wheel of dist/ once for each extra."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--extras", default=",".join(EXTRAS), help="names with commas between them; '' is the base")
    extras = parser.parse_args().extras.split(",")
    wheels = sorted(Path("dist").glob("shunter-*.whl"))
    if not wheels:
        sys.exit("error: dist/ has no wheel; run 'make wheel' first")
    print(f"{'installed':<16} {'MB':>6} {'pip, s':>8}")
    for extra in extras:
        wheel = f"{wheels[-1].resolve()}[{extra}]" if extra else str(wheels[-1].resolve())
        with TemporaryDirectory() as folder:
            seconds = install(wheel, Path(folder))
            print(f"{extra or 'base':<16} {megabytes(Path(folder)):>6.0f} {seconds:>8.1f}", flush=True)


def install(wheel: str, folder: Path) -> float:
    """Seconds that pip takes to install a wheel in an empty environment."""
    venv.create(folder, with_pip=True)
    began = time.perf_counter()
    command = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check", wheel]
    subprocess.run([str(word) for word in command], check=True)
    return time.perf_counter() - began


def megabytes(folder: Path) -> float:
    """Megabytes of the packages in an environment, without those that every environment has."""
    (packages,) = folder.glob("lib/python*/site-packages")
    return (
        sum(
            file.stat().st_size
            for path in packages.iterdir()
            if not path.name.startswith(LEFT_OUT)
            for file in (path.rglob("*") if path.is_dir() else [path])
            if file.is_file()
        )
        / 1e6
    )


if __name__ == "__main__":
    main()
