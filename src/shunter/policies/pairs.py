"""Which types of GPUs a job takes: any, those within a price, or the one on which it ends first.

Given as a name (``eft``), as prices (``price?V100=3&P100=2&K80=1``), or as a TOML file with a section ``[pairs]``,
which may also be the file of a policy. What is resolved says all of it in its text, so that no record needs the file.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import quote

import numpy as np

from shunter.checks import check_name, number, read_query
from shunter.errors import InputError
from shunter.files import read_toml, toml_value
from shunter.model.settings import option_of
from shunter.policies.catalog import PAIR_CODES, PAIRS

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from shunter.model.cluster import Cluster

ANY: Final = "any"
PRICE: Final = "price"
EFT: Final = "eft"
SCORE: Final = "score"
FACTOR: Final = "factor"
DEFAULT_FACTOR: Final = 1.2
_EXAMPLE: Final = "price?factor=1.2&V100=3&P100=2&K80=1"
_OPTION: Final = option_of("pairs")


@dataclass(frozen=True)
class Pairs:
    """Which types of GPUs a job takes."""

    kind: str = ANY
    factor: float = 1.0
    """How many times the cost on its cheapest type a job takes."""
    prices: dict[str, float] = field(default_factory=dict)
    """What a second costs, by the type's name."""

    @property
    def text(self) -> str:
        """What ``--pairs`` takes, with every price, exact to the last digit."""
        if not self.prices:
            return self.kind
        prices = [f"{quote(name)}={price!r}" for name, price in self.prices.items()]
        return f"{self.kind}?" + "&".join([f"{FACTOR}={self.factor!r}", *prices])

    @property
    def code(self) -> int:
        """The core's number."""
        return PAIR_CODES[ANY if self.kind == SCORE and not self.prices else self.kind]

    def without_effect(self, cluster: Cluster) -> dict[str, list[str]]:
        """Returns what changes nothing on a cluster: by what a ledger says of it, the types that are concerned."""
        unknown = [name for name in self.prices if name not in cluster.gpu_types]
        found = {"pairs: a price for a type that no node has changes nothing": unknown}
        if self.kind in (PRICE, EFT) and len(cluster.gpu_types) < 2:
            found["pairs: with one type of GPUs or none there is nothing to choose"] = [*cluster.gpu_types] or [
                "no GPUs"
            ]
        return {what: names for what, names in found.items() if names}

    def for_core(self, cluster: Cluster) -> NDArray[np.float64]:
        """Returns the prices by the numbers of the cluster's types.

        Raises:
            InputError: A type of the cluster has no price.
        """
        if not self.prices:
            return np.empty(0)
        if not cluster.gpu_types:
            raise InputError(f"{_OPTION}: there are prices for types of GPUs, but {cluster.name} has none")
        for name in cluster.gpu_types:
            if name not in self.prices:
                told = f"there are prices for {', '.join(self.prices)}"
                raise InputError(f"{_OPTION}: the cluster's type {name} has no price; {told}")
        return np.array([self.prices[name] for name in cluster.gpu_types], dtype=np.float64)


def check_cluster(what: str, cluster: Cluster) -> None:
    """Raises an error for a cluster on which jobs cannot choose among types.

    Args:
        what: Who chooses, for the error message.
        cluster: The nodes.
    """
    if cluster.mix:
        raise InputError(f"{what} chooses one type of GPU for each job, but {cluster.name} lets jobs mix types")
    bare = next((node.name for node in cluster.nodes if node.gpus and node.gpu_type is None), None)
    if bare is not None:
        without = f"node {bare} of {cluster.name} has GPUs without a type"
        raise InputError(f"{what} chooses types of GPUs, but {without}; give its gpu_type")


def resolve_pairs(text: str) -> Pairs:
    """Returns what a text means.

    Raises:
        InputError: The name, a price or the file is wrong.
    """
    if text.endswith(".toml"):
        from pathlib import Path

        found = pairs_of_file(Path(text))
        if found is None:
            raise InputError(f'{text}: has no section [pairs]; add one with kind = "{PRICE}" and [pairs.prices]')
        return found
    name, _, query = text.partition("?")
    check_name("pairs", name, PAIRS, also=", or a file FILE.toml")
    given: dict[str, Any] = {}
    for key, value in read_query(query, f"{_OPTION} {text!r}", _EXAMPLE).items():
        try:
            given[key] = float(value)
        except ValueError:
            raise InputError(f"{_OPTION}: {key} is {value!r}; expected a number") from None
    factor = given.pop(FACTOR, None)
    return _checked(name, factor, given, _OPTION)


def pairs_of_file(path: Path) -> Pairs | None:
    """Returns what the section ``[pairs]`` of a file says; None: it has none."""
    section = read_toml(path).get("pairs")
    if section is None:
        return None
    if not isinstance(section, dict) or not isinstance(section.get("kind"), str):
        raise InputError(f'{path}: [pairs] has no kind; add a line such as kind = "{PRICE}"')
    check_name("pairs", section["kind"], PAIRS, where=f"{path}: ")
    for name in section:
        check_name("setting", name, ("kind", FACTOR, "prices"), where=f"{path}: [pairs]: ")
    prices = section.get("prices", {})
    if not isinstance(prices, dict):
        raise InputError(f"{path}: [pairs]: prices are no table; write them below [pairs.prices], as V100 = 3.1")
    return _checked(section["kind"], section.get(FACTOR), prices, f"{path}: [pairs]")


def pairs_text(pairs: Pairs, comments: Sequence[str] = ()) -> str:
    """Returns the section ``[pairs]`` of a file; its numbers are written so that reading them gives the same again."""
    lines = [*(f"# {line}" for line in comments), "[pairs]", f'kind = "{pairs.kind}"']
    if pairs.prices:
        # Names stand in quotes: they may have blanks.
        prices = [f"{toml_value(name)} = {price!r}" for name, price in pairs.prices.items()]
        lines += [f"{FACTOR} = {pairs.factor!r}", "", "[pairs.prices]", *prices]
    return "\n".join(lines) + "\n"


def _checked(kind: str, factor: object, prices: Mapping[str, object], where: str) -> Pairs:
    if kind not in (PRICE, SCORE) or (kind == SCORE and not prices):
        if prices or factor is not None:
            raise InputError(f"{where}: {kind} has no parameters; prices belong to {PRICE!r}: {_EXAMPLE}")
        return Pairs(kind)
    if not prices:
        also = f"as in {_EXAMPLE}, or a file of 'shunter trace prices'"
        raise InputError(f"{where}: there are no prices; give one for each type, {also}")
    named = {name: f"{where}: the price of {name}" for name in prices}
    checked = {name: number(named[name], value, 0.0, above=True) for name, value in prices.items()}
    taken = number(f"{where}: {FACTOR}", DEFAULT_FACTOR if factor is None else factor, 1.0, 1e9)
    return Pairs(kind, taken, checked)
