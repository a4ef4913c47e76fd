"""Slurm's associations of accounts and users as ``sacctmgr show assoc -P`` prints them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from shunter.workloads.machines.sacctmgr import columns, records

if TYPE_CHECKING:
    from shunter.workloads.machines.site import Site
    from shunter.workloads.text.source import Source

COMMAND: Final = (
    "sacctmgr show assoc -P format=Cluster,Account,User,Partition,ParentName,Fairshare,GrpTRES,GrpJobs,GrpSubmit,"
    "MaxTRES,MaxJobs,MaxSubmit,MaxWall"
)
"""What the list of what is not taken over tells to run."""
_ACCOUNT: Final = "account"
_ONE_OF: Final = {"user", "parentname", "fairshare", "grptres", "grpjobs", "maxjobs"}


def recognizes(source: Source) -> bool:
    """Returns whether the columns have an account, and something that an association alone has."""
    names = set(columns(source))
    # The log of sacct has accounts and users too, and a number for each job.
    return _ACCOUNT in names and not names.isdisjoint(_ONE_OF) and names.isdisjoint({"jobid", "jobidraw"})


def note(source: Source, site: Site) -> None:
    """Notes each association."""
    for record in records(source, site):
        if _ACCOUNT not in record:
            site.repairs.skip(next(iter(record.values())).place, "the row has no Account")
            continue
        site.associations.append(record)
