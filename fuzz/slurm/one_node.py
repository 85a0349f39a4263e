"""A Slurm cluster of one node on loopback, for tests: munged, slurmctld and slurmd with all of their files in one folder. Needs root."""

import os
import pwd
import shutil
import signal
import socket
import subprocess
import time
from pathlib import Path

CONFIGURATION = """ClusterName=one-node
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
CryptoType=crypto/munge
AuthInfo=socket={folder}/munge/munge.sock
SlurmctldPort={port}
SlurmdPort={second_port}
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
CommunicationParameters=NoInAddrAny,NoCtldInAddrAny
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/filetxt
JobCompLoc={folder}/jobcomp.txt
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
MpiDefault=none
ReturnToService=2
KillWait=2
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory=2000 State=UNKNOWN
PartitionName=p Nodes={host} Default=YES MaxTime=00:30:00 State=UP
"""
PROGRAMS = ["munged", "slurmctld", "slurmd", "sbatch", "scontrol", "squeue"]


def missing():
    """Why there can be no cluster here; empty where there can."""
    os.environ["PATH"] += ":/usr/sbin"
    absent = [p for p in PROGRAMS if shutil.which(p) is None]
    if absent:
        return "not installed: " + " ".join(absent)
    return "" if os.geteuid() == 0 else "a cluster of one node needs root"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class OneNode:
    def __init__(self, folder):
        self.folder = Path(folder)
        self.environment = dict(os.environ, SLURM_CONF=str(self.folder / "slurm.conf"))

    def __enter__(self):
        try:
            self.start()
        except BaseException:
            self.__exit__()
            raise
        return self

    def start(self):
        for place in (self.folder, self.folder.parent):  # munged is another user
            os.chmod(place, 0o755)
        munge = self.folder / "munge"
        for name in ("munge", "state", "spool"):
            (self.folder / name).mkdir()
        user = pwd.getpwnam("munge")
        key = munge / "key"
        key.write_bytes(os.urandom(1024))
        key.chmod(0o600)
        for path in (munge, key):
            os.chown(path, user.pw_uid, user.pw_gid)
        subprocess.run(["runuser", "-u", "munge", "--", "munged", f"--key-file={key}", f"--socket={munge}/munge.sock", f"--pid-file={munge}/pid",
                        f"--log-file={munge}/log", f"--seed-file={munge}/seed"], check=True)
        host = socket.gethostname().split(".")[0]
        (self.folder / "slurm.conf").write_text(CONFIGURATION.format(host=host, folder=self.folder, port=free_port(), second_port=free_port(), cpus=os.cpu_count()))
        for daemon in ("slurmctld", "slurmd"):
            subprocess.run([daemon, "-f", str(self.folder / "slurm.conf")], env=self.environment, check=True)
        deadline = time.monotonic() + 60
        while "idle" not in self.run(["sinfo", "-h", "-o", "%t"]):
            if time.monotonic() > deadline:
                raise RuntimeError("the node does not become idle: " + (self.folder / "slurmd.log").read_text()[-1000:])
            time.sleep(0.5)

    def run(self, command, **options):
        return subprocess.run(command, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, **options).stdout

    def wait_for_empty_queue(self, timeout_s):
        deadline = time.monotonic() + timeout_s
        while self.run(["squeue", "-h"]).strip():
            if time.monotonic() > deadline:
                raise RuntimeError("jobs are still there: " + self.run(["squeue"]))
            time.sleep(1)

    def __exit__(self, *_):
        if (self.folder / "slurmctld.pid").exists():
            self.run(["scontrol", "shutdown"])
            time.sleep(1)
        for pid_file in (self.folder / "slurmd.pid", self.folder / "slurmctld.pid", self.folder / "munge" / "pid"):
            try:
                os.kill(int(pid_file.read_text()), signal.SIGTERM)
            except (OSError, ValueError):
                pass
