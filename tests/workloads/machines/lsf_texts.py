"""The files of a small LSF site, as the manual describes them."""

from __future__ import annotations

from typing import Final

HOSTS: Final = """\
HOST_NAME      type    model  cpuf ncpus maxmem maxswp server RESOURCES
node1        X86_64 Intel_E5  12.5     8  15.5G      -    Yes (mg)
node2        X86_64 Intel_E5  12.5     8  15.5G      -    Yes ()
gpu1         X86_64 Intel_E5  12.5    32  63.5G      -    Yes ()
"""
QUEUES: Final = """\
# The queues of the farm.
Begin Queue
QUEUE_NAME   = normal
PRIORITY     = 30
NICE         = 20
RUNLIMIT     = 8:00 72:00
QJOB_LIMIT   = 60
UJOB_LIMIT   = 20
PJOB_LIMIT   = 2
HOSTS        = all ~gpu1
USERS        = all
FAIRSHARE    = USER_SHARES[[ada, 4] [staff@, 2] \\
               [default, 1]]
BACKFILL     = Y
DESCRIPTION  = For most jobs, \\
with a second line.
End Queue

Begin Queue
QUEUE_NAME   = night
PRIORITY     = 40                 # before the others
DISPATCH_WINDOW = 20:00-8:30 5:20:00-1:8:30
TASKLIMIT    = 1 4 64
HOSTS        = cpus gpu1+1
EXCLUSIVE    = Y
#if time(8:00-18:00)
UJOB_LIMIT   = 5
#else
UJOB_LIMIT   = 50
#endif
MEMLIMIT     = 4000000
End Queue

Begin Queue
QUEUE_NAME = lab
PRIORITY   = 50
USERS      = staff/ eve
HOSTS      = node*
RUNLIMIT   = 90/node1
RUN_WINDOW = 9-17
End Queue
"""
LSB_HOSTS: Final = """\
Begin Host
HOST_NAME   MXJ   r1m   pg   DISPATCH_WINDOW   # Keywords
default     !     ()    ()   ()
node1       6     ()    ()   ()
gpu*        16    ()    ()   (19:00-8:30 12:00-13:00)
End Host

Begin HostGroup
GROUP_NAME   GROUP_MEMBER
cpus         (node1 inner)
inner        (node2 cpus)
End HostGroup
"""
PARAMETERS: Final = """\
Begin Parameters
DEFAULT_QUEUE   = idle normal
MBD_SLEEP_TIME  = 20
HIST_HOURS      = 5
End Parameters
"""
USERS: Final = """\
Begin UserGroup
GROUP_NAME  GROUP_MEMBER
staff       (bob more)
more        (carl staff)
End UserGroup

Begin User
USER_NAME   MAX_JOBS   JL/P
ada         10         -
End User
"""
PRINTED: Final = """\
QUEUE: normal
  -- For most jobs.  This is the default queue.

PARAMETERS/STATISTICS
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 30   20  Open:Active      60   20    -    -     0     0     0     0     0    0
Interval for a host to accept two jobs is 0 seconds

 DEFAULT LIMITS:
 RUNLIMIT
 480.0 min of node1

 MAXIMUM LIMITS:
 CPULIMIT             RUNLIMIT
 100.0 min of node1   4320.0 min of node1
 PROCLIMIT
 1 4 64

SCHEDULING PARAMETERS
           r15s   r1m  r15m   ut      pg    io   ls    it    tmp    swp    mem
 loadSched   -     -     -     -       -     -    -     -     -      -      -
 loadStop    -     -     -     -       -     -    -     -     -      -      -

SCHEDULING POLICIES:  FAIRSHARE  BACKFILL  EXCLUSIVE
USER_SHARES:  [ada, 4] [default, 1]

SHARE_INFO_FOR: normal/
USER/GROUP   SHARES  PRIORITY  STARTED  RESERVED  CPU_TIME  RUN_TIME   ADJUST
ada             4       1.333      0        0         0.0        0       0.000

USERS: all
HOSTS:  node1 node2
-------------------------------------------------------------------------------

QUEUE: night
  -- At night.

PARAMETERS/STATISTICS
PRIO NICE STATUS          MAX JL/U JL/P JL/H NJOBS  PEND   RUN SSUSP USUSP  RSV
 40   20  Open:Inact_Win    -    -    -    -     0     0     0     0     0    0

DISPATCH_WINDOW:  20:00-8:30
USERS: ann eve
HOSTS:  all
"""
