"""The typed stub of the generated module names exactly the functions that the library has."""

from __future__ import annotations

import ast

import pytest

from shunter._core import ffi, lib
from tests.abi.declarations import header_functions
from tests.support import PROJECT

FUNCTIONS = {name for name in dir(lib) if name.startswith("shunter_")}
STUB = PROJECT / "src" / "shunter" / "_core" / "__init__.pyi"


@pytest.fixture(scope="module")
def parameters() -> dict[str, list[str]]:
    """The stub's functions and the names of their parameters."""
    module = ast.parse(STUB.read_text(encoding="utf-8"))
    [library] = [node for node in module.body if isinstance(node, ast.ClassDef) and node.name == "_Lib"]
    functions = [node for node in library.body if isinstance(node, ast.FunctionDef)]
    assert len(functions) == len({function.name for function in functions})
    return {function.name: [one.arg for one in function.args.posonlyargs] for function in functions}


def test_stub_names_the_functions_of_the_library(parameters: dict[str, list[str]]) -> None:
    assert set(parameters) == FUNCTIONS


def test_stub_has_the_arguments_of_the_library(parameters: dict[str, list[str]]) -> None:
    counts = {name: len(ffi.typeof(getattr(lib, name)).args) for name in FUNCTIONS}
    assert {name: len(names) - 1 for name, names in parameters.items()} == counts


def test_stub_names_parameters_as_the_header_does(parameters: dict[str, list[str]]) -> None:
    declared = {name: [label for _, label in function.parameters] for name, function in header_functions().items()}
    assert {name: names[1:] for name, names in parameters.items()} == declared
