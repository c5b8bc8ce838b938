"""What the lints share: the files of the tree, C++ without comments and strings, one way to report."""
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
NOT_OURS = {".git", "build", "build-debug", "build-odr", "reports", "__pycache__", ".cache", ".venv"}
CPP = (".cpp", ".hpp", ".cu")


def files(*suffixes: str, under: tuple[str, ...] = ()) -> list[Path]:
    """Files that git tracks or would track, relative to the root; outside git, all that is not generated."""
    git = subprocess.run(["git", "-C", str(ROOT), "ls-files", "-z", "--cached", "--others", "--exclude-standard"],
                         capture_output=True, text=True, check=False)
    if git.returncode == 0 and git.stdout:
        names = [Path(name) for name in git.stdout.split("\0") if name]
    else:
        names = [name for name in (path.relative_to(ROOT) for path in ROOT.rglob("*")) if not NOT_OURS & set(name.parts)]
    return sorted(name for name in names
                  if (ROOT / name).is_file() and (not suffixes or name.suffix in suffixes)
                  and (not under or any(name.is_relative_to(folder) for folder in under)))


def text_of(name: Path) -> str:
    return (ROOT / name).read_text(encoding="utf-8", errors="replace")


_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|R"(?P<raw>[^(\s]*)\(.*?\)(?P=raw)"|"(?:\\.|[^"\\\n])*"'
                    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'", re.S)


def code_only(text: str) -> str:
    """C++ with comments and the inside of literals blanked; every character keeps its place."""
    return _TOKEN.sub(lambda token: re.sub(r"[^\n]", " ", token[0]), text)


def finish(lint: str, findings: list[str], looked_at: int) -> None:
    """Prints what was found and leaves: 1 if anything, also if there was nothing to look at."""
    for finding in findings:
        print(finding)
    if looked_at == 0:
        print(f"{lint}: nothing to look at, which cannot be right")
    print(f"{lint}: {len(findings)} finding(s), {looked_at} looked at")
    sys.exit(1 if findings or looked_at == 0 else 0)
