"""The tree of Slurm's accounts, and the shares that it comes to for users."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from shunter.errors import InputError
from shunter.workloads.machines.sacctmgr_assoc import COMMAND

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Record, Site

_ROOT: Final = "root"
_OF_PARENT: Final = "parent"
_DIGITS: Final = 6
"""Digits of a share that are kept: nobody's turn depends on more."""


def one_cluster(site: Site) -> None:
    """Leaves only the associations of the cluster that a configuration names.

    Raises:
        InputError: There are several, and nothing says which it is.
    """
    clusters = list(dict.fromkeys(row["cluster"].value.strip() for row in site.associations if "cluster" in row))
    told = site.settings.get("clustername")
    if len(clusters) < 2:
        return
    # Slurm keeps the names of clusters in lower case.
    chosen = told.value.lower() if told else ""
    if chosen not in clusters:
        where = site.where(site.associations[0])
        raise InputError(
            f"{where}: tells of the clusters {', '.join(clusters)}; print one alone, with: {COMMAND} cluster=NAME"
        )
    site.associations = [
        row for row in site.associations if "cluster" in row and row["cluster"].value.strip() == chosen
    ]


def parents(site: Site) -> dict[str, str]:
    """Returns the parent of each account: as the column ParentName says, or by the blanks of ``show assoc tree``.

    Raises:
        InputError: An account lies within itself.
    """
    rows = [row for row in site.associations if "user" not in row]
    told_of = {_account(row): row.get("parentname", row["account"]) for row in rows}
    named = {_account(row): row["parentname"].value.strip() for row in rows if "parentname" in row}
    found = named or _drawn(rows)
    for account in found:
        above, seen = found.get(account), {account}
        while above is not None and above not in seen:
            seen.add(above)
            above = found.get(above)
        if above == account:
            raise site.wrong(told_of[account], f"another account than one below {account}")
    if len(rows) > 1 and not found:
        told = rows[0]["account"]._replace(key="ParentName", value="not in the table")
        site.leave(told, f"which account lies below which is not known; run: {COMMAND}")
    return found


def _drawn(rows: Sequence[Record]) -> dict[str, str]:
    """Returns parents by how far accounts are moved to the right."""
    found: dict[str, str] = {}
    above: list[tuple[int, str]] = []
    for row in rows:
        text = row["account"].value
        depth = len(text) - len(text.lstrip())
        while above and above[-1][0] >= depth:
            above.pop()
        if above:
            found[text.strip()] = above[-1][1]
        above.append((depth, text.strip()))
    return found if any(row["account"].value.startswith(" ") for row in rows) else {}


def user_shares(site: Site, tree: dict[str, str]) -> dict[str, float]:
    """Returns the share of each user that the tree of shares comes to; on the average it is 1.

    The share of an account or a user is divided by those of all beside it, and multiplied with that of the account
    above. A user of several accounts has the sum.

    Raises:
        InputError: A share makes no sense.
    """
    if not any("fairshare" in row and "user" in row for row in site.associations):
        return {}
    beside: dict[str, float] = {}
    accounts: dict[str, float] = {}
    users: list[tuple[str, str, float]] = []
    for row in site.associations:
        account, share = _account(row), _share(site, row)
        if "user" in row:
            users.append((row["user"].value.strip(), account, share))
            beside[account] = beside.get(account, 0.0) + share
        elif account != _ROOT:
            accounts[account] = share
            above = tree.get(account, _ROOT)
            beside[above] = beside.get(above, 0.0) + share
    found: dict[str, float] = {}
    for user, account, share in users:
        product, above = share / (beside[account] or 1.0), account
        while above in accounts:
            product *= accounts[above]
            above = tree.get(above, _ROOT)
            product /= beside.get(above) or 1.0
        found[user] = found.get(user, 0.0) + product
    total = sum(found.values())
    # Nobody's share may be 0 here: one who has none is left to the last, but not out.
    scaled = {user: round(share * len(found) / total, _DIGITS) for user, share in found.items()} if total else {}
    return {user: share or 10.0**-_DIGITS for user, share in scaled.items()}


def _share(site: Site, row: Record) -> float:
    told = row.get("fairshare")
    if told is None:
        return 1.0
    if told.value.strip().lower() == _OF_PARENT:
        site.leave(told, "shares of users are their own: 1 stands in")
        return 1.0
    return float(site.count(told) or 0)


def _account(row: Record) -> str:
    return row["account"].value.strip()
