"""`core/include/shunter.h` is written by hand: it must say exactly what the core exports."""

from __future__ import annotations

from typing import Any

import pytest

from shunter import native
from shunter._core import ffi, lib
from shunter.model.schedule import BASES, RejectReason
from shunter.policies import catalog
from shunter.simulation.decision import Reason
from tests.abi import declarations
from tests.abi.hostile import POLICIES

STRUCTURES = [
    "ShunterConfig",
    "ShunterDecision",
    "ShunterEnvConfig",
    "ShunterEpisode",
    "ShunterPlaces",
    "ShunterScene",
    "ShunterSnapshot",
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


def header_numbers(header: Any, enum: str, prefix: str) -> dict[str, int]:  # noqa: ANN401 - as above
    """Returns the numbers of one of the header's enums, by name without the prefix."""
    return {name.removeprefix(prefix): number for name, number in header.typeof(f"enum {enum}").relements.items()}


def test_a_size_is_as_wide_as_a_pointer() -> None:
    assert ffi.sizeof("size_t") == ffi.sizeof("uintptr_t")


def test_header_declares_what_maturin_generated(header: Any) -> None:  # noqa: ANN401
    library = header.dlopen(None)
    declared = {name for name in dir(library) if name.startswith("shunter_")}
    assert declared == set(dir(lib))
    assert declared == set(declarations.header_functions())


@pytest.mark.parametrize("name", sorted(dir(lib)))
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
    assert structures == STRUCTURES == ffi.list_types()[0]
    for name in STRUCTURES:
        declared, generated = header.typeof(name), ffi.typeof(name)
        fields = [
            [(field, type_name(kind.type), kind.offset) for field, kind in structure.fields]
            for structure in (declared, generated)
        ]
        assert fields[0] == fields[1]
        assert header.sizeof(declared) == ffi.sizeof(generated)


def test_numbers_are_those_of_the_sources(header: Any) -> None:  # noqa: ANN401
    assert header_numbers(header, "ShunterResult", "SHUNTER_") == declarations.rust_enum("Status")
    assert header_numbers(header, "ShunterPhase", "SHUNTER_PHASE_") == declarations.rust_enum("Phase")
    assert header_numbers(header, "ShunterBasis", "SHUNTER_BASIS_") == declarations.rust_enum("Basis")
    assert header_numbers(header, "ShunterTierOrder", "SHUNTER_TIER_ORDER_") == declarations.rust_enum("TierOrder")
    assert header_numbers(header, "ShunterOutcome", "SHUNTER_OUTCOME_") == declarations.rust_enum("Outcome")
    assert header_numbers(header, "ShunterReason", "SHUNTER_REASON_") == declarations.rust_enum("Reason")
    reasons = declarations.rust_enum("RejectReason")
    assert header_numbers(header, "ShunterRejectReason", "SHUNTER_REJECT_") == reasons
    for name, rust_name in (("Policy", "Policy"), ("Placement", "Rule"), ("Estimate", "Estimate")):
        numbers = header_numbers(header, f"Shunter{name}", f"SHUNTER_{name.upper()}_")
        assert numbers
        assert numbers == declarations.rust_codes(rust_name)


def test_numbers_are_those_of_python(header: Any) -> None:  # noqa: ANN401
    reasons = header_numbers(header, "ShunterRejectReason", "SHUNTER_REJECT_")
    assert reasons == {reason.name: reason.value for reason in RejectReason}
    results = header_numbers(header, "ShunterResult", "SHUNTER_")
    assert (results["INVALID_HANDLE"], results["PANICKED"]) == (native.INVALID_HANDLE, native.PANICKED)
    waits = header_numbers(header, "ShunterReason", "SHUNTER_REASON_")
    assert waits == {reason.name: number for number, reason in enumerate(Reason)}
    placements = header_numbers(header, "ShunterPlacement", "SHUNTER_PLACEMENT_")
    assert placements.pop("EXTERNAL") == catalog.EXTERNAL
    placements["SLOWEST_THAT_FITS"] = placements.pop("SLOWEST")
    assert placements == in_capitals(catalog.PLACEMENT_CODES)
    assert header_numbers(header, "ShunterEstimate", "SHUNTER_ESTIMATE_") == in_capitals(catalog.ESTIMATE_CODES)
    bases = header_numbers(header, "ShunterBasis", "SHUNTER_BASIS_")
    assert bases == in_capitals({name: code for code, name in enumerate(BASES)})


def test_policies_are_those_of_python(header: Any) -> None:  # noqa: ANN401
    policies = header_numbers(header, "ShunterPolicy", "SHUNTER_POLICY_")
    assert policies.pop("GIVEN") == catalog.GIVEN
    others = {"FIFO": policies["FCFS"], "FIRST_AVAILABLE": policies["FCFS"]}
    assert policies | others == in_capitals(POLICIES)


def test_dispatch_rules_are_those_of_python(header: Any) -> None:  # noqa: ANN401
    rules = header_numbers(header, "ShunterDispatch", "SHUNTER_DISPATCH_")
    codes = {name: code for name, (code, _) in catalog.DISPATCH_CODES.items()}
    reserving = {name for name, code in codes.items() if code == rules["RESERVE"]}
    assert reserving == {"greedy", "easy", "conservative"}
    others = in_capitals({name: code for name, code in codes.items() if name not in reserving})
    assert others | {"RESERVE": 1} == rules


def in_capitals(codes: dict[str, int]) -> dict[str, int]:
    """Returns the numbers by names as C spells them."""
    return {name.replace("-", "_").upper(): code for name, code in codes.items()}
