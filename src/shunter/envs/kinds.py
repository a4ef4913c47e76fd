"""The kinds of decision by name: what ``[environment] kind`` of a training file may be."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from shunter.checks import from_table, to_table
from shunter.envs.pick_host import PickHostOptions
from shunter.envs.pick_job import PickJobOptions
from shunter.envs.pick_job_and_type import PickJobAndTypeOptions
from shunter.envs.sources import EnvironmentOptions
from shunter.errors import InputError
from shunter.policies.catalog import PICK_HOST, PICK_JOB, PICK_JOB_AND_TYPE

ENVIRONMENTS: Final[dict[str, type[EnvironmentOptions]]] = {
    PICK_JOB: PickJobOptions,
    PICK_JOB_AND_TYPE: PickJobAndTypeOptions,
    PICK_HOST: PickHostOptions,
}
"""By kind: the class of its options, whose fields are the other keys of the section."""


def environment_table(options: EnvironmentOptions) -> dict[str, Any]:
    """Returns the section of an environment; `environment_from` reads the same again."""
    return {"kind": options.layout.kind, **to_table(options)}


def environment_from(table: object, where: str) -> EnvironmentOptions:
    """Returns the options that a section of a training file, or of a checkpoint, gives.

    Raises:
        InputError: A key is unknown, or a value is wrong.
    """
    if not isinstance(table, Mapping):
        raise InputError(f"{where} is {table!r}; expected a table of keys and values")
    # A training file need not name the kind that most have.
    kind = table.get("kind", PICK_JOB)
    if not isinstance(kind, str) or kind not in ENVIRONMENTS:
        raise InputError(f"{where}: kind is {kind!r}; expected one of {', '.join(ENVIRONMENTS)}")
    return from_table(ENVIRONMENTS[kind], {key: value for key, value in table.items() if key != "kind"}, where)
