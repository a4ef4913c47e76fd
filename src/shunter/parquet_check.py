"""Whether a Parquet file agrees with itself, before Polars reads it.

Polars believes the numbers in a file. A damaged one can make it ask for more memory than there is, which ends the
process, so this looks at all of them first: where the columns lie, how large their pages are, and how many values each
holds. What the pages hold is not looked at.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

from shunter.thrift import BINARY, BOOL, I8, I16, I32, I64, ListOf, MalformedError, Reader, Struct

PARQUET_MAGIC: Final = b"PAR1"
"""The first and the last bytes of every file."""
LEAST_LIMIT: Final = 1 << 29
LARGEST_RATIO: Final = 512
"""A file that says to unpack to more bytes than both of these allow is no table of jobs: those shrink 3 to 30 times."""

_TAIL_BYTES: Final = 8
"""The length of the footer, and the magic."""
_DEEPEST: Final = 32
"""How deep columns may lie in columns."""
_LEAST_WIDTH: Final = 8
"""How many bytes a value counts as at least."""
_REPEATED: Final = 2
_DATA, _DICTIONARY, _DATA_2 = 0, 2, 3

_EMPTY: Final = Struct("an empty struct", {})
_UNIT: Final = Struct("a unit of time", dict.fromkeys((1, 2, 3), ("unit", _EMPTY)))
_TIME: Final = Struct("a time", {1: ("is_utc", BOOL), 2: ("unit", _UNIT)})
_MEANING: Final = Struct(
    "a logical type",
    {
        **dict.fromkeys((1, 2, 3, 4, 6, 11, 12, 13, 14, 15), ("plain", _EMPTY)),
        5: ("decimal", Struct("a decimal", {1: ("scale", I32), 2: ("precision", I32)})),
        7: ("time", _TIME),
        8: ("timestamp", _TIME),
        10: ("integer", Struct("an integer", {1: ("bits", I8), 2: ("is_signed", BOOL)})),
    },
)
_SCHEMA: Final = Struct(
    "a column of the schema",
    {
        1: ("type", I32), 2: ("type_length", I32), 3: ("repetition", I32), 4: ("name", BINARY), 5: ("children", I32),
        6: ("converted", I32), 7: ("scale", I32), 8: ("precision", I32), 9: ("id", I32), 10: ("meaning", _MEANING),
    },
    needed=("name",),
)  # fmt: skip
_STATISTICS: Final = Struct(
    "statistics",
    {
        1: ("max", BINARY), 2: ("min", BINARY), 3: ("nulls", I64), 4: ("distinct", I64), 5: ("max_value", BINARY),
        6: ("min_value", BINARY), 7: ("is_max_exact", BOOL), 8: ("is_min_exact", BOOL),
    },
)  # fmt: skip
_PAIR: Final = Struct("metadata", {1: ("key", BINARY), 2: ("value", BINARY)}, needed=("key",))
_PAGE_KINDS: Final = Struct("the kinds of pages", {1: ("type", I32), 2: ("encoding", I32), 3: ("count", I32)})
_SIZES: Final = Struct(
    "sizes", {1: ("bytes", I64), 2: ("repetition_levels", ListOf(I64)), 3: ("definition_levels", ListOf(I64))}
)
_COLUMN: Final = Struct(
    "a column",
    {
        1: ("type", I32), 2: ("encodings", ListOf(I32)), 3: ("path", ListOf(BINARY)), 4: ("codec", I32),
        5: ("values", I64), 6: ("unpacked_bytes", I64), 7: ("packed_bytes", I64), 8: ("metadata", ListOf(_PAIR)),
        9: ("data_at", I64), 10: ("index_at", I64), 11: ("dictionary_at", I64), 12: ("statistics", _STATISTICS),
        13: ("page_kinds", ListOf(_PAGE_KINDS)), 14: ("bloom_at", I64), 15: ("bloom_bytes", I32), 16: ("sizes", _SIZES),
    },
    needed=("values", "packed_bytes", "data_at"),
)  # fmt: skip
_CHUNK: Final = Struct(
    "a column",
    {
        1: ("file", BINARY), 2: ("file_at", I64), 3: ("column", _COLUMN), 4: ("offsets_at", I64),
        5: ("offsets_bytes", I32), 6: ("index_at", I64), 7: ("index_bytes", I32),
    },
    needed=("column",),
)  # fmt: skip
_SORTING: Final = Struct("an order", {1: ("column", I32), 2: ("is_descending", BOOL), 3: ("are_nulls_first", BOOL)})
_GROUP: Final = Struct(
    "a group of rows",
    {
        1: ("columns", ListOf(_CHUNK)), 2: ("bytes", I64), 3: ("rows", I64), 4: ("sorting", ListOf(_SORTING)),
        5: ("file_at", I64), 6: ("packed_bytes", I64), 7: ("ordinal", I16),
    },
    needed=("columns", "rows"),
)  # fmt: skip
_ORDER: Final = Struct("an order of values", {1: ("by_type", _EMPTY)})
_FOOTER: Final = Struct(
    "the footer",
    {
        1: ("version", I32), 2: ("schema", ListOf(_SCHEMA)), 3: ("rows", I64), 4: ("groups", ListOf(_GROUP)),
        5: ("metadata", ListOf(_PAIR)), 6: ("writer", BINARY), 7: ("orders", ListOf(_ORDER)), 8: ("encryption", _EMPTY),
    },
    needed=("schema", "rows", "groups"),
)  # fmt: skip
_PAGE: Final = Struct(
    "a page",
    {
        1: ("type", I32),
        2: ("unpacked_bytes", I32),
        3: ("packed_bytes", I32),
        4: ("checksum", I32),
        5: (
            "data",
            Struct(
                "a page of data",
                {
                    1: ("values", I32), 2: ("encoding", I32), 3: ("definition", I32), 4: ("repetition", I32),
                    5: ("statistics", _STATISTICS),
                },
                needed=("values",),
            ),
        ),
        6: ("index", _EMPTY),
        7: (
            "dictionary",
            Struct("a dictionary", {1: ("values", I32), 2: ("encoding", I32), 3: ("is_sorted", BOOL)}, ("values",)),
        ),
        8: (
            "data_2",
            Struct(
                "a page of data",
                {
                    1: ("values", I32), 2: ("nulls", I32), 3: ("rows", I32), 4: ("encoding", I32),
                    5: ("definition_bytes", I32), 6: ("repetition_bytes", I32), 7: ("is_packed", BOOL),
                    8: ("statistics", _STATISTICS),
                },
                needed=("values", "nulls", "rows", "definition_bytes", "repetition_bytes"),
            ),
        ),
    },
    needed=("type", "unpacked_bytes", "packed_bytes"),
)  # fmt: skip


@dataclass(frozen=True)
class _Leaf:
    """A column of values; what only holds other columns is none."""

    name: str
    width: int
    is_repeated: bool


def check_parquet(content: bytes) -> dict[str, str]:
    """Checks every number by which Polars finds its way in a Parquet file, and returns the file's metadata.

    Raises:
        MalformedError: They cannot be; the message says why.
    """
    if len(content) < len(PARQUET_MAGIC) + _TAIL_BYTES or not (
        content.startswith(PARQUET_MAGIC) and content.endswith(PARQUET_MAGIC)
    ):
        raise MalformedError("it does not begin and end as one; it may be cut short")
    tail = len(content) - _TAIL_BYTES
    begin = tail - int.from_bytes(content[tail : tail + 4], "little")
    if begin < len(PARQUET_MAGIC):
        raise MalformedError("its footer is longer than the file")
    footer = Reader(content, begin, tail).struct(_FOOTER)
    if "encryption" in footer:
        raise MalformedError("it is encrypted")
    _Pages(content, begin).check(footer)
    pairs = ((pair["key"], pair.get("value", b"")) for pair in footer.get("metadata", []))
    return {key.decode(errors="replace"): value.decode(errors="replace") for key, value in pairs}


def _leaves(schema: list[dict[str, Any]]) -> list[_Leaf]:
    """Returns the columns of values, in their order; the schema has a tree of columns, its root first."""
    leaves = []
    # How many columns are still to come of those that the next one lies in, and whether one of these is repeated.
    above = [(1, False)]
    for each in schema:
        while above and not above[-1][0]:
            above.pop()
        if not above or len(above) > _DEEPEST:
            raise MalformedError("its schema is no tree of columns")
        left, is_repeated = above[-1]
        above[-1] = (left - 1, is_repeated)
        is_repeated |= each.get("repetition") == _REPEATED
        if children := each.get("children", 0):
            above.append((children, is_repeated))
        elif len(above) > 1:
            name = each["name"].decode(errors="replace")
            leaves.append(_Leaf(name, max(each.get("type_length", 0), _LEAST_WIDTH), is_repeated))
    if any(left for left, _ in above):
        raise MalformedError("its schema is no tree of columns")
    return leaves


class _Pages:
    """The pages of a file, of all columns."""

    def __init__(self, content: bytes, end: int) -> None:
        self._content = content
        self._end = end
        self._left_bytes = max(LEAST_LIMIT, LARGEST_RATIO * len(content))

    def check(self, footer: dict[str, Any]) -> None:
        """Checks all pages that a footer tells of."""
        leaves = _leaves(footer["schema"])
        for group in footer["groups"]:
            if len(group["columns"]) != len(leaves):
                raise MalformedError(f"{len(group['columns'])} columns where the schema has {len(leaves)}")
            for chunk, leaf in zip(group["columns"], leaves, strict=True):
                try:
                    self._check_column(chunk["column"], leaf, group["rows"])
                except MalformedError as error:
                    raise MalformedError(f"column {leaf.name}: {error}") from None
        if sum(group["rows"] for group in footer["groups"]) != footer["rows"]:
            raise MalformedError(f"its groups of rows do not have {footer['rows']} rows together")

    def _check_column(self, column: dict[str, Any], leaf: _Leaf, rows: int) -> None:
        values = column["values"]
        if values < rows if leaf.is_repeated else values != rows:
            raise MalformedError(f"{values} values for {rows} rows")
        self._count(values * leaf.width)
        at = column.get("dictionary_at", column["data_at"])
        end = at + column["packed_bytes"]
        if not len(PARQUET_MAGIC) <= at <= end <= self._end:
            raise MalformedError("it lies outside the file")
        seen, is_first = 0, True
        # Polars looks at the first page even where there are no values.
        while at < end and (is_first or seen < values):
            reader = Reader(self._content, at, end)
            page = reader.struct(_PAGE)
            seen += self._check_page(page)
            at, is_first = reader.at + page["packed_bytes"], False
            if at > end:
                raise MalformedError("a page goes on where the column ends")
        if seen != values:
            raise MalformedError(f"its pages hold {seen} values and not {values}")

    def _check_page(self, page: dict[str, Any]) -> int:
        """Returns how many values a page holds."""
        packed, unpacked = page["packed_bytes"], page["unpacked_bytes"]
        if packed < 0:
            raise MalformedError(f"a page of {packed} bytes")
        self._count(unpacked)
        if page["type"] == _DICTIONARY and "dictionary" in page:
            if not 0 <= page["dictionary"]["values"] <= unpacked:
                raise MalformedError(f"a dictionary of {page['dictionary']['values']} values")
            return 0
        if page["type"] == _DATA and "data" in page:
            data = page["data"]
            nulls = data.get("statistics", {}).get("nulls", 0)
        elif page["type"] == _DATA_2 and "data_2" in page:
            data = page["data_2"]
            nulls = data["nulls"]
            levels = (data["definition_bytes"], data["repetition_bytes"])
            if min(levels) < 0 or sum(levels) > min(packed, unpacked) or not 0 <= data["rows"] <= data["values"]:
                raise MalformedError("a page contradicts itself")
        else:
            raise MalformedError(f"a page of kind {page['type']}")
        if not 0 <= nulls <= data["values"]:
            raise MalformedError(f"a page of {data['values']} values, {nulls} of them missing")
        return int(data["values"])

    def _count(self, unpacked_bytes: int) -> None:
        """Adds to what the file says to unpack to."""
        self._left_bytes -= unpacked_bytes
        if unpacked_bytes < 0:
            raise MalformedError(f"a size of {unpacked_bytes} bytes")
        if self._left_bytes < 0:
            raise MalformedError(
                f"the file would unpack to more than {LARGEST_RATIO} times its size, as no table of jobs does"
            )
