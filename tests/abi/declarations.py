"""Reads the declarations of the C ABI from the header and from the Rust sources."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from cffi import FFI

from tests.support import PROJECT

HEADER = PROJECT / "core" / "include" / "shunter.h"
RUST_SOURCES = PROJECT / "core" / "src"

_C_TYPES = {
    "i32": "int32_t",
    "u32": "uint32_t",
    "i64": "int64_t",
    "u64": "uint64_t",
    "u8": "uint8_t",
    "f64": "double",
    "f32": "float",
    "usize": "size_t",
}


@dataclass(frozen=True)
class Function:
    """A function as C sees it: types with `const`, and names."""

    result: str
    parameters: tuple[tuple[str, str], ...]


def header_code() -> str:
    """Returns the header without comments, preprocessor lines and the guard for C++."""
    text = re.sub(r"/\*.*?\*/", "", HEADER.read_text(encoding="utf-8"), flags=re.DOTALL)
    text = re.sub(r"#ifdef __cplusplus.*?#endif", "", text, flags=re.DOTALL)
    return "\n".join(line for line in text.splitlines() if line.strip() and not line.startswith("#"))


def header_ffi() -> Any:  # noqa: ANN401 - cffi's stubs do not know what a `cdef` declares
    """Returns what cffi understands of the header."""
    ffi = FFI()
    ffi.cdef(header_code())
    return ffi


def header_functions() -> dict[str, Function]:
    """Returns the functions that the header declares, by name."""
    found = {}
    for result, name, parameters in re.findall(r"^(\w+) (shunter_\w+)\(([^)]*)\);", header_code(), re.MULTILINE):
        split = [re.fullmatch(r"(.+?)(\w+)", " ".join(one.split())) for one in parameters.split(",")]
        pairs = tuple((match[1].replace(" *", "*").strip(), match[2]) for match in split if match)
        found[name] = Function(result, pairs)
    return found


def rust_functions() -> dict[str, Function]:
    """Returns the functions that the Rust sources export, by name, in C's words."""
    found = {}
    pattern = r'#\[no_mangle\](?:\s*#\[[^\]]*\])*\s*pub (?:unsafe )?extern "C" fn (\w+)\(([^)]*)\) -> (\w+)'
    for path in sorted((RUST_SOURCES / "ffi").glob("*.rs")):
        for name, parameters, result in re.findall(pattern, path.read_text(encoding="utf-8")):
            pairs = [one.strip().split(": ") for one in parameters.split(",") if one.strip()]
            found[name] = Function(_c_type(result), tuple((_c_type(kind), label) for label, kind in pairs))
    return found


def _c_type(rust: str) -> str:
    for prefix, before in (("*const ", "const "), ("*mut ", "")):
        if rust.startswith(prefix):
            return before + _c_type(rust.removeprefix(prefix)) + "*"
    return _C_TYPES.get(rust, rust)


def exported_names() -> set[str]:
    """Returns every name that follows `#[no_mangle]` in the folder of the border, whatever else its line says."""
    sources = [path.read_text(encoding="utf-8") for path in (RUST_SOURCES / "ffi").glob("*.rs")]
    return {name for text in sources for name in re.findall(r"#\[no_mangle\][^{;]*?\bfn (\w+)", text)}
