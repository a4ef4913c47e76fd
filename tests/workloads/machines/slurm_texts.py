"""What the commands of a small site print: Slurm 22.05 with the configuration below, on one machine."""

from __future__ import annotations

from typing import Final

CONFIGURATION: Final = """\
ClusterName=riverlab
SlurmctldHost=head
AccountingStorageEnforce=associations,limits,qos
Licenses=matlab:10,ansys*4,viewer
SchedulerType=sched/backfill
SchedulerParameters=bf_window=2880,bf_max_job_test=300,bf_continue
PriorityType=priority/multifactor
PriorityWeightAge=1000
PriorityWeightFairshare=5000
PriorityWeightJobSize=500
PriorityWeightPartition=2000
PriorityWeightQOS=3000
PriorityWeightTRES=CPU=100,Mem=50
PriorityMaxAge=3-12
PriorityDecayHalfLife=14-0
PriorityFavorSmall=YES
EnforcePartLimits=ALL
NodeName=node[1-2] CPUs=8 RealMemory=16000 Feature=haswell,ib State=UNKNOWN
NodeName=node3 CPUs=8 RealMemory=16000 Feature=skylake
NodeName=gpu1 CPUs=8 RealMemory=32000 Gres=gpu:a100:2 Feature=skylake,ib
PartitionName=DEFAULT State=UP MaxTime=2-00:00:00
PartitionName=short Nodes=node[1-3] Default=YES MaxTime=4:00:00 DefaultTime=30 PriorityJobFactor=50 PriorityTier=2
PartitionName=long Nodes=node[1-3],gpu1 MaxNodes=2 MinNodes=2 PriorityJobFactor=10 DenyAccounts=guests QOS=longq
PartitionName=gpu Nodes=gpu1 AllowAccounts=physics,bio AllowQos=normal,high OverSubscribe=EXCLUSIVE MaxTime=UNLIMITED \\
  AllowGroups=users MaxMemPerNode=30000
"""
NODES: Final = """\
NodeName=gpu1 Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUEfctv=8 CPUTot=8 CPULoad=2.96
   AvailableFeatures=skylake,ib,knl
   ActiveFeatures=skylake,ib
   Gres=gpu:a100:2
   RealMemory=32000 AllocMem=0 FreeMem=15106 Sockets=8 Boards=1
   State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=long,gpu

NodeName=node1 Arch=x86_64 CoresPerSocket=1
   CPUAlloc=0 CPUEfctv=8 CPUTot=8 CPULoad=2.96
   AvailableFeatures=haswell,ib
   ActiveFeatures=haswell,ib
   Gres=(null)
   RealMemory=16000 AllocMem=0 FreeMem=15106 Sockets=8 Boards=1
   State=IDLE ThreadsPerCore=1 TmpDisk=0 Weight=1 Owner=N/A MCS_label=N/A
   Partitions=short,long

"""
PARTITIONS: Final = """\
PartitionName=short
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   AllocNodes=ALL Default=YES QoS=N/A
   DefaultTime=00:30:00 DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=UNLIMITED MaxTime=04:00:00 MinNodes=0 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=node1
   PriorityJobFactor=50 PriorityTier=2 RootOnly=NO ReqResv=NO OverSubscribe=NO
   OverTimeLimit=NONE PreemptMode=OFF
   State=UP TotalCPUs=8 TotalNodes=1 SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
   TRES=cpu=8,mem=16000M,node=1,billing=8,license/matlab=10

PartitionName=long
   AllowGroups=ALL DenyAccounts=guests AllowQos=ALL
   AllocNodes=ALL Default=NO QoS=longq
   DefaultTime=NONE DisableRootJobs=NO ExclusiveUser=NO GraceTime=0 Hidden=NO
   MaxNodes=2 MaxTime=2-00:00:00 MinNodes=1 LLN=NO MaxCPUsPerNode=UNLIMITED
   Nodes=gpu1,node1
   PriorityJobFactor=10 PriorityTier=1 RootOnly=NO ReqResv=NO OverSubscribe=FORCE:2
   OverTimeLimit=NONE PreemptMode=OFF
   State=DOWN TotalCPUs=16 TotalNodes=2 SelectTypeParameters=NONE
   JobDefaults=(null)
   DefMemPerNode=UNLIMITED MaxMemPerNode=UNLIMITED
   TRES=cpu=16,mem=48000M,node=2,billing=16,gres/gpu=2

PartitionName=empty
   AllowGroups=ALL AllowAccounts=ALL AllowQos=ALL
   Nodes=(null)
   State=UP TotalCPUs=0 TotalNodes=0 SelectTypeParameters=NONE

"""
RESERVATIONS: Final = """\
ReservationName=maint StartTime=2026-12-01T08:00:00 EndTime=2026-12-01T12:00:00 Duration=04:00:00
   Nodes=gpu1,node[1-3] NodeCnt=4 CoreCnt=32 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES,ALL_NODES
   TRES=cpu=32
   Users=root Groups=(null) Accounts=(null) Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)

ReservationName=course StartTime=2026-11-19T09:00:00 EndTime=2026-11-19T11:00:00 Duration=02:00:00
   Nodes=node[1-2] NodeCnt=2 CoreCnt=16 Features=(null) PartitionName=(null) Flags=WEEKDAY,SPEC_NODES,FLEX
   TRES=cpu=16
   Users=(null) Groups=staff Accounts=physics,bio Licenses=matlab:2 State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)

ReservationName=part StartTime=2026-11-19T22:00:00 EndTime=2026-11-20T02:00:00 Duration=04:00:00
   Nodes=node1 NodeCnt=1 CoreCnt=2 Features=(null) PartitionName=short Flags=DAILY
   TRES=cpu=2
   Users=root,ada Groups=(null) Accounts=bio Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a
   MaxStartDelay=(null)

ReservationName=licmaint StartTime=2026-12-02T08:00:00 EndTime=2026-12-02T09:00:00 Duration=01:00:00
   Nodes=(null) NodeCnt=0 CoreCnt=0 Features=(null) PartitionName=(null) Flags=ANY_NODES
   TRES=license/matlab=4
   Users=root Groups=(null) Accounts=(null) Licenses=matlab:4 State=INACTIVE BurstBuffer=(null) Watts=n/a

ReservationName=most StartTime=2026-12-13T08:00:00 EndTime=2026-12-13T08:30:00 Duration=00:30:00
   Nodes=gpu1 NodeCnt=1 CoreCnt=8 Features=(null) PartitionName=gpu Flags=WEEKLY,SPEC_NODES,PART_NODES
   TRES=cpu=8
   Users=(null) Groups=(null) Accounts=-guests Licenses=(null) State=INACTIVE BurstBuffer=(null) Watts=n/a

"""
LICENSES: Final = """\
LicenseName=ansys
    Total=6 Used=0 Free=6 Reserved=0 Remote=no
LicenseName=matlab
    Total=10 Used=0 Free=10 Reserved=0 Remote=no
"""
_QOS_COLUMNS: Final = (
    "Name|Priority|GraceTime|Preempt|PreemptExemptTime|PreemptMode|Flags|UsageThres|UsageFactor|GrpTRES|GrpTRESMins|"
    "GrpTRESRunMins|GrpJobs|GrpSubmit|GrpWall|MaxTRES|MaxTRESPerNode|MaxTRESMins|MaxWall|MaxTRESPU|MaxJobsPU|"
    "MaxSubmitPU|MaxTRESPA|MaxJobsPA|MaxSubmitPA|MinTRES"
)
QOS: Final = f"""\
{_QOS_COLUMNS}
normal|0|00:00:00|||cluster|||1.000000|||||||||||||||||
longq|10|00:00:00|normal||cluster|DenyOnLimit||2.000000||cpu=100000||10|20||cpu=8|||||||cpu=12,mem=24G|6||
high|100|00:00:00|||cluster|||1.000000|cpu=24,node=3|||||||||1-00:00:00|cpu=16,gres/gpu=2|4|8||||
"""
ASSOCIATIONS: Final = """\
Cluster|Account|User|Partition|ParentName|Share|GrpJobs|GrpTRES|GrpSubmit|MaxJobs|MaxTRES|MaxSubmit|MaxWall|QOS
riverlab|root||||1||||||||normal
riverlab|root|root|||1||||||||normal
riverlab|guests|||root|1|||||||01:00:00|normal
riverlab|science|||root|60||cpu=24||||||normal
riverlab|bio|||science|10||cpu=8,gres/gpu=2,mem=20G||||||normal
riverlab|bio|ada|||1||||||||high,normal
riverlab|bio|bob|||2||||||||normal
riverlab|physics|||science|30|20||40|5||||normal
riverlab|physics|ada|||5||||3|cpu=8|6||high,normal
riverlab|physics|eve|long||5||||5||||normal
riverlab|physics|root|||5||||5||||normal
"""
TREE: Final = """\
Cluster|Account|User|Partition|Share
riverlab|root|||1
riverlab| root|root||1
riverlab| guests|||1
riverlab| science|||60
riverlab|  bio|||10
riverlab|   bio|ada||1
riverlab|  physics|||30
riverlab|   physics|ada||5
"""
