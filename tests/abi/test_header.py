"""`core/include/shunter.h` is written by hand: it must say exactly what the core exports."""

from __future__ import annotations

import re
from typing import Any

import pytest

from shunter._core import ffi, lib
from shunter.envs.pick_job_and_type import MODE
from shunter.envs.queue_options import LOOKAHEADS
from shunter.model.schedule import Phase, RejectReason
from shunter.native import core_numbers
from shunter.policies import catalog
from shunter.simulation.decision import Reason
from tests.abi import declarations

FUNCTIONS = sorted(name for name in dir(lib) if name.startswith("shunter_"))
STRUCTURES = [
    "ShunterBlocks",
    "ShunterConditions",
    "ShunterConfig",
    "ShunterDecision",
    "ShunterEnvConfig",
    "ShunterEpisode",
    "ShunterForesight",
    "ShunterHosts",
    "ShunterLearned",
    "ShunterLossOptions",
    "ShunterPlaces",
    "ShunterPpoOptions",
    "ShunterReplayOptions",
    "ShunterRules",
    "ShunterRuns",
    "ShunterScene",
    "ShunterScopes",
    "ShunterSnapshot",
    "ShunterSpeeds",
    "ShunterStatus",
]


@pytest.fixture(scope="module")
def header() -> Any:  # noqa: ANN401 - cffi's stubs do not know what a `cdef` declares
    return declarations.header_ffi()


def signature(function: Any) -> tuple[str, list[str]]:  # noqa: ANN401 - a cffi type
    """Returns the result and the arguments."""
    return type_name(function.result), [type_name(kind) for kind in function.args]


def type_name(kind: Any) -> str:  # noqa: ANN401 - as above
    """Returns the name of a type; Rust's `usize` is C's `size_t`, which maturin calls `uintptr_t`."""
    name: str = kind.cname
    return name.replace("uintptr_t", "size_t").replace("struct ", "")


def header_numbers(header: Any, enum: str) -> dict[str, int]:  # noqa: ANN401 - as above
    """Returns the numbers of one of the header's enums, by name as users write it, without the prefix that all have."""
    numbers = header.typeof(f"enum Shunter{enum}").relements
    prefix = {
        "Result": "SHUNTER_",
        "RejectReason": "SHUNTER_REJECT_",
        "TierOrder": "SHUNTER_TIER_ORDER_",
        "SizeBy": "SHUNTER_SIZE_BY_",
        "NetworkKind": "SHUNTER_NETWORK_KIND_",
        "RunTimes": "SHUNTER_RUN_TIMES_",
    }
    own = prefix.get(enum, f"SHUNTER_{enum.upper()}_")
    return {as_written(name.removeprefix(own)): code for name, code in numbers.items()}


def as_written(name: str) -> str:
    """Returns a name of an enum as users write it."""
    return name.lower().replace("_", "-")


def test_a_size_is_as_wide_as_a_pointer() -> None:
    assert ffi.sizeof("size_t") == ffi.sizeof("uintptr_t")


def test_header_declares_what_maturin_generated(header: Any) -> None:  # noqa: ANN401
    library = header.dlopen(None)
    declared = {name for name in dir(library) if name.startswith("shunter_")}
    assert declared == set(FUNCTIONS)
    assert declared == set(declarations.header_functions())


@pytest.mark.parametrize("name", FUNCTIONS)
def test_types_are_those_that_maturin_generated(header: Any, name: str) -> None:  # noqa: ANN401
    result, parameters = signature(ffi.typeof(getattr(lib, name)))
    declared = declarations.header_functions()[name]
    pointer = header.typeof(f"{declared.result}(*)({', '.join(kind for kind, _ in declared.parameters)})")
    assert signature(pointer) == (result, parameters)


def test_header_declares_what_the_sources_export() -> None:
    exported = declarations.rust_functions()
    assert set(exported) == declarations.exported_names()
    assert declarations.header_functions() == exported


def test_structures_are_those_that_maturin_generated(header: Any) -> None:  # noqa: ANN401
    named = [name for name in header.list_types()[0] if name.startswith("Shunter")]
    structures = [name for name in named if header.typeof(name).kind == "struct"]
    assert set(named) - set(structures) == {"ShunterPlacer"}
    assert structures == STRUCTURES == ffi.list_types()[1]
    for name in STRUCTURES:
        declared, generated = header.typeof(name), ffi.typeof(name)
        fields = [
            [(field, type_name(kind.type), kind.offset) for field, kind in structure.fields]
            for structure in (declared, generated)
        ]
        assert fields[0] == fields[1]
        assert header.sizeof(declared) == ffi.sizeof(generated)


def test_enums_are_those_that_maturin_generated(header: Any) -> None:  # noqa: ANN401
    """The numbers stand in the Rust enums; Python has them from the library, and C from the header."""
    declared = re.findall(r"^enum Shunter(\w+) {", declarations.header_code(), re.MULTILINE)
    generated = [name.removeprefix("Shunter") for name in ffi.list_types()[0] if name not in STRUCTURES]
    assert sorted(declared) == sorted(generated)
    for name in declared:
        assert header_numbers(header, name) == core_numbers(name), name


def test_names_are_those_of_python() -> None:
    assert core_numbers("RejectReason") == {as_written(reason.name): reason.value for reason in RejectReason}
    assert core_numbers("Reason") == {as_written(reason.name): number for number, reason in enumerate(Reason)}
    assert core_numbers("Phase") == {as_written(phase.name): phase.value for phase in Phase}
    others = {catalog.EXTERNAL, catalog.LEARNED}
    assert set(core_numbers("Placement").values()) == {*catalog.PLACEMENT_CODES.values(), *others}
    assert core_numbers("Estimate") == catalog.ESTIMATE_CODES
    assert set(core_numbers("Policy").values()) == {known.code for known in catalog.KNOWN_POLICIES.values()}
    assert set(core_numbers("Dispatch").values()) == {code for code, _ in catalog.DISPATCH_CODES.values()}
    assert set(core_numbers("Mode")) == {*catalog.PICK_JOB_MODES, "host", MODE}
    assert tuple(core_numbers("Lookahead")) == tuple(map(as_written, LOOKAHEADS))
