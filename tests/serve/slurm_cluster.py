"""A Slurm of two nodes on this machine, from the distribution's packages, with GPUs that are /dev/null."""
import json
import os
import pwd
import shutil
import socket
import subprocess
import time
from pathlib import Path

PACKAGES = {"slurmctld": "slurmctld", "slurmd": "slurmd", "sbatch": "slurm-client", "curl": "curl"}
NODES, GPUS, CORES = ("n1", "n2"), 8, 16
START_S = 60  # until the nodes are there; they took 3 s
PLUGIN = Path(__file__).resolve().parents[2] / "cli/serve/slurm"


def programs() -> dict:
    path = os.environ["PATH"] + ":/usr/sbin:/sbin"
    return {name: shutil.which(name, path=path) for name in PACKAGES}


def missing() -> list[str]:
    """The packages to install."""
    return sorted({PACKAGES[name] for name, found in programs().items() if not found})


def free_ports(count: int) -> list[int]:
    sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def cgroup_conf(version: tuple) -> str:
    if version >= (23, 2):
        return "CgroupPlugin=disabled\n"
    return f"CgroupPlugin=cgroup/{'v2' if Path('/sys/fs/cgroup/cgroup.controllers').exists() else 'v1'}\n"


class NoSlurm(Exception):
    """Slurm's own daemons do not run here: no fault of the plug-in."""


class Cluster:
    """Each GPU has a GRES type of its own (g0 to g7), so that a job can ask for the ones it was told to take."""

    def __init__(self, folder: str, features: dict, environment: dict):
        self.folder, self.programs, self.daemons = Path(folder), programs(), []
        text = subprocess.run([self.programs["slurmctld"], "-V"], capture_output=True, text=True, check=True).stdout
        self.version = tuple(int(part) for part in text.split()[-1].split("-")[0].split(".")[:2])
        self.environment = {**os.environ, "SLURM_CONF": str(self.folder / "slurm.conf"), **environment}
        self.write(features)
        self.start("slurmctld", "-D")
        for node in NODES:
            self.start("slurmd", "-D", "-N", node)
        self.wait_for_nodes()

    def write(self, features: dict) -> None:
        for name in ("state", "dev"):
            (self.folder / name).mkdir()
        for gpu in range(GPUS):
            (self.folder / f"dev/nvidia{gpu}").symlink_to("/dev/null")  # slurmd wants a device
        user = pwd.getpwuid(os.getuid()).pw_name
        host, (ctld, *ports) = socket.gethostname().split(".")[0], free_ports(1 + len(NODES))
        gres = ",".join(f"gpu:g{gpu}:1" for gpu in range(GPUS))
        lines = [f"SlurmctldHost={host}(127.0.0.1)", f"SlurmctldPort={ctld}", f"SlurmUser={user}", f"SlurmdUser={user}",
                 "ClusterName=linkcast", "AuthType=auth/none", "CredType=cred/none", "KillWait=1", "SlurmdParameters=config_overrides",
                 f"StateSaveLocation={self.folder}/state", f"SlurmdSpoolDir={self.folder}/spool-%n",
                 f"SlurmctldPidFile={self.folder}/slurmctld.pid", f"SlurmdPidFile={self.folder}/slurmd-%n.pid",
                 "ProctrackType=proctrack/pgid", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none", "MpiDefault=none",
                 "SelectType=select/cons_tres", "SelectTypeParameters=CR_Core", "SchedulerParameters=sched_interval=1,batch_sched_delay=0",
                 "ReturnToService=2", "GresTypes=gpu", "JobSubmitPlugins=lua"]
        for node, port in zip(NODES, ports):
            lines.append(f"NodeName={node} NodeHostname={host} NodeAddr=127.0.0.1 Port={port} CPUs={CORES} Gres={gres} Feature={features[node]}")
        lines.append(f"PartitionName=p Nodes={','.join(NODES)} Default=YES State=UP")
        (self.folder / "slurm.conf").write_text("\n".join(lines) + "\n")
        (self.folder / "cgroup.conf").write_text(cgroup_conf(self.version))
        (self.folder / "gres.conf").write_text("".join(
            f"Name=gpu Type=g{gpu} File={self.folder}/dev/nvidia{gpu} Flags=nvidia_gpu_env\n" for gpu in range(GPUS)))
        shutil.copy(PLUGIN / "job_submit.lua", self.folder)

    def start(self, name: str, *options: str) -> None:
        log = open(self.folder / f"log-{len(self.daemons)}", "w", encoding="utf-8")
        self.daemons.append((name, log, subprocess.Popen([self.programs[name], *options], env=self.environment, stdout=log,
                                                         stderr=subprocess.STDOUT)))

    def wait_for_nodes(self) -> None:
        end = time.monotonic() + START_S
        while time.monotonic() < end:
            for name, log, daemon in self.daemons:
                if daemon.poll() is not None:
                    why = Path(log.name).read_text(encoding="utf-8").strip().splitlines()[-3:]
                    self.stop()
                    raise NoSlurm(f"{name} ended: {' | '.join(why)}")
            if self.run("sinfo", "-h", "-t", "idle", "-o", "%D", check=False).strip() == str(len(NODES)):
                return
            time.sleep(0.2)
        logs = self.log()[-2000:]
        self.stop()
        raise NoSlurm(f"the nodes were not idle after {START_S} s: {logs}")

    def log(self) -> str:
        return "".join(Path(log.name).read_text(encoding="utf-8", errors="replace") for _, log, _ in self.daemons)

    def run(self, *command: str, check: bool = True) -> str:
        done = subprocess.run(command, env=self.environment, cwd=self.folder, capture_output=True, text=True, timeout=60)
        if check and done.returncode:
            raise RuntimeError(f"{command}: {done.stderr}")
        return done.stdout + (done.stderr if not check else "")

    def nodes_json(self) -> dict:
        """What linkcast reads. scontrol prints JSON since 23.02; the same keys come from sinfo before."""
        command = ("scontrol", "show", "nodes", "--json") if self.version >= (23, 2) else ("sinfo", "--json")
        return json.loads(self.run(*command))

    def submit(self, *options: str, check: bool = True) -> str:
        """The job's number."""
        text = self.run("sbatch", "--parsable", "-o", str(self.folder / "out-%j"), *options, "--wrap",
                        'echo "$SLURMD_NODENAME $CUDA_VISIBLE_DEVICES"; sleep 600', check=check)
        return text.strip()

    def job(self, number: str) -> dict:
        """Keys of scontrol show job -d."""
        text = self.run("scontrol", "-d", "show", "job", number)
        return dict(word.split("=", 1) for word in text.replace("\n", " ").split() if "=" in word)

    def running(self, number: str) -> dict:
        for _ in range(300):
            job = self.job(number)
            if job["JobState"] == "RUNNING":
                return job
            time.sleep(0.1)
        raise RuntimeError(f"job {number} does not run: {job}\n{self.log()[-2000:]}")

    def cancel_all(self) -> None:
        """Until their processes have ended."""
        self.run("scancel", "-u", pwd.getpwuid(os.getuid()).pw_name, check=False)
        for _ in range(300):
            if self.run("squeue", "-h", check=False).strip() == "":
                return
            time.sleep(0.1)

    def stop(self) -> None:
        if all(daemon.poll() is None for _, _, daemon in self.daemons):
            self.cancel_all()
        for _, log, daemon in reversed(self.daemons):
            daemon.terminate()
        for _, log, daemon in self.daemons:
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
            log.close()
