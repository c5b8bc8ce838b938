"""The box itself: its GPUs, its name, and the program that measures it."""
from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from ..records import InputError

BENCH = "linkcast-bench"
SOURCES = Path("calibrate/bench")
CUDA_FOLDERS = ("/usr/local/cuda", "/opt/cuda")
SYSTEM_HEADERS = ("/usr/include", "/usr/local/include")
NEEDED_HEADERS = {"nlohmann/json.hpp": "nlohmann-json3-dev", "CLI/CLI.hpp": "libcli11-dev"}


def host_name() -> str:
    """An id from the name of the host: "Node-07.cluster" is node-07."""
    name = os.uname().nodename.split(".")[0].lower()
    return re.sub(r"[^a-z0-9]+", "-", name).strip("-") or "box"


def gpu_names() -> list[str]:
    """Names of the GPUs here, as nvidia-smi lists them. @raises InputError  none"""
    if not shutil.which("nvidia-smi"):
        raise InputError("no GPUs here: nvidia-smi is not on the PATH; --from-records takes what linkcast-bench left on another machine")
    done = subprocess.run(["nvidia-smi", "-L"], capture_output=True, text=True, check=False)
    found = re.findall(r"^GPU \d+: (.+?) \(UUID", done.stdout, re.M)
    if not found:
        said = (done.stdout + done.stderr).strip().splitlines()
        raise InputError(f"no GPUs here: nvidia-smi -L: {said[0] if said else 'lists none'}")
    return found


def others_on_gpus() -> int:
    """Processes that use these GPUs now."""
    done = subprocess.run(["nvidia-smi", "--query-compute-apps=pid", "--format=csv,noheader"], capture_output=True, text=True, check=False)
    return sum(line.strip().isdecimal() for line in done.stdout.splitlines()) if done.returncode == 0 else 0


def gpus_text(names: list[str]) -> str:
    return ", ".join(f"{names.count(name)} x {name}" for name in dict.fromkeys(names))


def find_bench(given: str | None, program: str, out: Path) -> Path | None:
    """The program that measures. @returns None  it has to be built. @raises InputError  not where it was said to be"""
    if given:
        path = shutil.which(given)
        if not path:
            raise InputError(f"--bench: {given}: no such program")
        return Path(path).absolute()
    folder = Path(program).parent
    for path in (folder / BENCH, folder / SOURCES / BENCH, built_path(out)):
        if os.access(path, os.X_OK):
            return path.absolute()
    path = shutil.which(BENCH)
    return Path(path).absolute() if path else None


def built_path(out: Path) -> Path:
    return out / "bench" / BENCH


class Compiler:
    """What builds linkcast-bench. @raises InputError  what is missing, and how to get it"""

    def __init__(self, data_dir: str, include: str | None):
        self._root = Path(data_dir)
        self.sources = sorted([*self._root.glob(f"{SOURCES}/*.cpp"), *self._root.glob(f"{SOURCES}/*.cu")])
        self.nvcc = self._find_nvcc()
        cuda = Path(self.nvcc).resolve().parent.parent
        paths = [*([include] if include else []), str(cuda / "include"), *os.environ.get("CPATH", "").split(":"), *SYSTEM_HEADERS]
        has = {header: any(path and (Path(path) / header).exists() for path in paths) for header in (*NEEDED_HEADERS, "nccl.h")}
        missing = [header for header in NEEDED_HEADERS if not has[header]]
        if not self.sources:
            raise InputError(f"no {BENCH} is found, and no sources of it in {self._root / SOURCES}: name the program by --bench")
        if missing:
            packages = " ".join(NEEDED_HEADERS[header] for header in missing)
            raise InputError(f"{' and '.join(missing)} not found, needed to build {BENCH}: apt install {packages}, or name their folder by "
                             "--include")
        self.has_nccl = has["nccl.h"]
        self._flags = ["-std=c++20", "-O2", f"-arch={self._architecture()}", f"-I{self._root}", *([f"-I{include}"] if include else []),
                       *([] if self.has_nccl else ["-DLINKCAST_WITHOUT_NCCL"])]

    @staticmethod
    def _find_nvcc() -> str:
        """What CUDA_HOME says counts alone."""
        said = os.environ.get("CUDA_HOME") or os.environ.get("CUDA_PATH")
        for folder in [said] if said else CUDA_FOLDERS:
            if os.access(Path(folder) / "bin" / "nvcc", os.X_OK):
                return str(Path(folder) / "bin" / "nvcc")
        found = None if said else shutil.which("nvcc")
        if not found:
            where = f" in {said}" if said else ""
            raise InputError(f"no {BENCH} and no nvcc to build it{where}: install CUDA 12 or newer (CUDA_HOME says where it is), or name the program by "
                             "--bench")
        return found

    @staticmethod
    def _architecture() -> str:
        done = subprocess.run(["nvidia-smi", "--query-gpu=compute_cap", "--format=csv,noheader"], capture_output=True, text=True, check=False)
        found = re.match(r"(\d+)\.(\d+)\s*$", done.stdout.partition("\n")[0])
        return f"sm_{found[1]}{found[2]}" if found else "native"

    def text(self) -> str:
        without = "" if self.has_nccl else "; no nccl.h: collectives are not measured"
        return f"{BENCH}, built from {len(self.sources)} files with {self.nvcc}{without}"

    def build(self, out: Path) -> Path:
        """Compiles each file by itself, as many at once as there are cores. @raises InputError  the compiler's first error"""
        begin, program = time.monotonic(), built_path(out)
        program.parent.mkdir(parents=True, exist_ok=True)
        cores = os.cpu_count() or 1
        print(f"measure: {self.text()}", file=sys.stderr)
        objects = [program.parent / f"{source.name}.o" for source in self.sources]
        with ThreadPoolExecutor(cores) as pool:
            try:
                list(pool.map(lambda pair: self._run("-c", pair[0], "-o", pair[1]), zip(self.sources, objects, strict=True)))
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
        self._run(*objects, "-ldl", "-o", f"{program}.draft")
        os.replace(f"{program}.draft", program)
        for path in objects:
            path.unlink()
        print(f"measure: built {program} in {time.monotonic() - begin:.0f} s", file=sys.stderr)
        return program

    def _run(self, *words: object) -> None:
        done = subprocess.run([self.nvcc, *self._flags, *map(str, words)], capture_output=True, text=True, check=False)
        if done.returncode:
            lines = done.stderr.strip().splitlines() or [f"exit code {done.returncode}"]
            first = next((line for line in lines if "error" in line), lines[0])
            raise InputError(f"{self.nvcc} cannot build {BENCH}: {first}")


def ask_to_stop(process: subprocess.Popen, patience_s: float = 60.0) -> None:
    """Ends a bench: after the point in work, with complete files; by force where it does not."""
    process.send_signal(signal.SIGINT)
    try:
        process.wait(patience_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
