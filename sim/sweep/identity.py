"""Which linkcast and which data answer: two parts of one table must come from the same. Needs no other file of linkcast."""
import hashlib
import subprocess
from pathlib import Path

DATA = ("topologies/*.json", "models/params/*.json", "apps-traces/samples/*")


def sha256_of(paths):
    digest = hashlib.sha256()
    for path in paths:
        content = path.read_bytes()
        digest.update(f"{path.name} {len(content)}\n".encode())
        digest.update(content)
    return digest.hexdigest()


def identity_of(program, data_dir):
    """Version, and digests of program and data, as this machine sees them."""
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[1]
    data = [path for pattern in DATA for path in sorted(Path(data_dir).glob(pattern)) if path.is_file()]
    return {"linkcast": version, "program_sha256": sha256_of([Path(program)]), "data_sha256": sha256_of(data)}
