"""What GPUs can do at most: a catalog of types by their usual names.

The figures are peak rates of dense half-precision multiplication (on tensor cores where there are some, with sums in
single precision), from the data sheets and architecture papers of NVIDIA and AMD; where half precision is no faster,
they are single-precision rates. A name without a form factor means the fastest of its form factors that is common:
``V100`` is the SXM2 module. A K80 is one of the two GPUs of its board, as schedulers count them.
"""

from __future__ import annotations

import re
from functools import cache, lru_cache
from typing import Final

TFLOPS: Final[dict[str, float]] = {
    "B200": 2250.0,
    "H200": 989.0,
    "H100": 989.0,
    "A100": 312.0,
    "A800": 312.0,
    "A40": 149.7,
    "A30": 165.0,
    "A10": 125.0,
    "A2": 18.0,
    "L40S": 362.0,
    "L40": 181.0,
    "L4": 121.0,
    "T4": 65.0,
    "V100": 125.0,
    "V100M16": 125.0,
    "V100M32": 125.0,
    "V100S": 130.0,
    "P100": 21.2,
    "P40": 11.8,
    "P4": 5.5,
    "M40": 7.0,
    "K80": 4.37,
    "RTX A6000": 154.8,
    "RTX A5000": 111.1,
    "RTX 4090": 165.2,
    "RTX 3090": 71.0,
    "RTX 3080": 59.5,
    "RTX 2080 Ti": 53.8,
    "GTX 1080 Ti": 11.3,
    "TITAN RTX": 130.5,
    "TITAN V": 110.0,
    "TITAN Xp": 12.1,
    "MI100": 184.6,
    "MI210": 181.0,
    "MI300X": 1307.4,
}
"""Teraflops of one GPU, by the type's usual name."""

_PCIE_TFLOPS: Final = {"h100": 756.0, "v100": 112.0, "p100": 18.7}
"""Teraflops of PCIe cards that are slower than the module of the same name."""

_WORD: Final = re.compile(r"[^0-9a-z]+")
_MAKER: Final = frozenset({"nvidia", "amd", "tesla", "geforce", "quadro", "instinct", "gpu"})
_PART: Final = re.compile(r"sxm\d?|hbm\d?e?|\d+gi?b|nvlink")
"""Words that tell the form or the memory, and change no figure."""
_PCIE: Final = "pcie"
_SERIES: Final = re.compile(r"^(rtx|gtx)")


@lru_cache(maxsize=1024)
def catalog_tflops(name: str) -> float | None:
    """Returns the teraflops of a type, by any usual way to write its name: ``V100``, ``Tesla V100-SXM2-16GB``.

    None: the catalog does not have it, or the name may mean more than one thing.
    """
    # "NVIDIA A100-SXM4-80GB" becomes a100: neither maker nor memory changes the figure. What is left over and unknown
    # makes the name unknown, rather than the figure wrong.
    words = [word for word in _WORD.split(name.lower()) if word and word not in _MAKER]
    model = _key("".join(word for word in words if word != _PCIE and not _PART.fullmatch(word)))
    # Only where the card is slower does its form matter.
    if _PCIE in words and model in _PCIE_TFLOPS:
        return _PCIE_TFLOPS[model]
    return _by_key().get(model)


def _key(model: str) -> str:
    return _SERIES.sub("", model)


@cache
def _by_key() -> dict[str, float]:
    """Returns the catalog by names as they are compared; made when it is first asked for, as most clusters do not."""
    return {_key(name.lower().replace(" ", "")): tflops for name, tflops in TFLOPS.items()}
