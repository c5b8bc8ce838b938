#!/usr/bin/env python3
"""Each commit since BASE: a header of at most 72 characters, includes that exist, and sources that compile (syntax only).

Without BASE: since origin/main, else since the last tag, else the last 20 commits. Of each commit the changed sources are
compiled and, for each changed header, its own source and others that include it: at most --units of them, 3 to 6 s of CPU
each. With --tidy clang-tidy looks at the lines changed since BASE instead, as .clang-tidy says."""
import argparse
import json
import re
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

MOST_HEADER = 72  # characters
LAST = 20  # commits that are looked at without a base
SKIPPED = 77  # exit code: what the check needs is not installed
CPP = (".cpp", ".hpp", ".cu")
INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"]+)"')
MISSING_LIBRARY = re.compile(r"fatal error: (\S+): No such file")
FLAGS = ["-std=c++20", "-I.", "-isystem", "/usr/include/eigen3", '-DLINKCAST_DATA_DIR=""', '-DLINKCAST_PROGRAM=""', "-DSPDLOG_COMPILED_LIB",
         "-DSPDLOG_FMT_EXTERNAL"]


class Repository:
    def __init__(self, root: Path):
        self.root = root

    def git(self, *words: str, okay: tuple[int, ...] = (0,)) -> str:
        run = subprocess.run(["git", "-C", str(self.root), *words], capture_output=True, text=True, check=False)
        if run.returncode not in okay:
            raise SystemExit(f"error: git {' '.join(words)}: {run.stderr.strip()}")
        return run.stdout

    def base(self, asked: str | None) -> str:
        """The commit that the check begins after."""
        if asked:
            return self.git("rev-parse", "--verify", f"{asked}^{{commit}}").strip()
        for words in (("rev-parse", "--verify", "-q", "origin/main^{commit}"), ("describe", "--tags", "--abbrev=0")):
            found = self.git(*words, okay=(0, 1, 128)).strip()
            if found:
                return self.git("merge-base", "HEAD", found).strip()
        commits = self.git("rev-list", f"--max-count={LAST + 1}", "HEAD").split()
        return commits[-1]

    def commits(self, base: str) -> list[str]:
        return self.git("rev-list", "--reverse", "--no-merges", f"{base}..HEAD").split()

    def tree(self, commit: str) -> set[str]:
        return set(self.git("ls-tree", "-r", "-z", "--name-only", commit).split("\0"))

    def includes(self, commit: str) -> dict[str, list[str]]:
        """Source or header -> what it includes from this tree."""
        lines = self.git("grep", "-I", "-E", r'^[ \t]*#[ \t]*include[ \t]*"', commit, "--", *("*" + suffix for suffix in CPP), okay=(0, 1))
        found: dict[str, list[str]] = {}
        for line in lines.splitlines():
            _, name, text = line.split(":", 2)
            match = INCLUDE.match(text)
            if match:
                found.setdefault(name, []).append(match[1])
        return found

    def changed(self, commit: str) -> list[str]:
        """Added or changed files."""
        return [name for name in self.git("diff-tree", "--no-commit-id", "--name-only", "-r", "-z", "--root", "--diff-filter=d", commit).split("\0") if name]


def missing_headers(tree: set[str], includes: dict[str, list[str]]) -> list[str]:
    return [f'{name} includes "{header}", which does not exist' for name, headers in sorted(includes.items()) for header in headers
            if header not in tree and str((Path(name).parent / header)) not in tree]


def units_of(changed: list[str], includes: dict[str, list[str]], most: int) -> list[str]:
    """Changed sources, then for each changed header its own source, then others that include it, taking turns."""
    sources = [name for name in changed if name.endswith(".cpp")]
    turns = []
    for header in (name for name in changed if name.endswith(".hpp")):
        users = sorted(name for name, seen in includes.items() if name.endswith(".cpp") and header in seen)
        own = str(Path(header).with_suffix(".cpp"))
        turns.append(sorted(users, key=lambda name: name != own))
    longest = max((len(users) for users in turns), default=0)
    others = [users[k] for k in range(longest) for users in turns if k < len(users)]
    return list(dict.fromkeys([*sources, *others]))[:most]


def syntax_error(folder: Path, unit: str, generated: Path) -> str | None:
    """The first error of the compiler; nothing where a library is not installed."""
    run = subprocess.run(["g++", "-fsyntax-only", *FLAGS, f"-I{generated}", unit], cwd=folder, capture_output=True, text=True, check=False)
    if run.returncode == 0:
        return None
    missing = MISSING_LIBRARY.search(run.stderr)
    if missing and not (folder / missing[1]).parent.is_dir():
        return None
    first = next((line for line in run.stderr.splitlines() if "error:" in line), run.stderr.strip())
    return f"{unit} does not compile: {first}"


def check(repository: Repository, base: str, most: int, generated: Path) -> tuple[list[str], int]:
    """Findings, and how many commits were looked at."""
    commits = repository.commits(base)
    findings = []
    with tempfile.TemporaryDirectory() as scratch, ThreadPoolExecutor() as pool:
        folder = Path(scratch) / "tree"
        repository.git("worktree", "add", "--detach", "--no-checkout", str(folder), base)
        try:
            for commit in commits:
                header = repository.git("log", "-1", "--format=%s", commit).rstrip("\n")
                short = f"{commit[:7]} ({header[:40]})"
                if len(header) > MOST_HEADER:
                    findings.append(f"{short}: a header of {len(header)} characters, at most {MOST_HEADER}")
                includes = repository.includes(commit)
                findings += [f"{short}: {problem}" for problem in missing_headers(repository.tree(commit), includes)]
                units = units_of(repository.changed(commit), includes, most)
                if units:
                    Repository(folder).git("checkout", "-q", "--force", "--detach", commit)
                    errors = pool.map(lambda unit: syntax_error(folder, unit, generated), units)
                    findings += [f"{short}: {error}" for error in errors if error]
        finally:
            repository.git("worktree", "remove", "--force", str(folder))
    return findings, len(commits)


def changed_lines(diff: str) -> dict[str, list[list[int]]]:
    """Source -> ranges of lines, of a diff without context."""
    ranges: dict[str, list[list[int]]] = {}
    name = ""
    for line in diff.splitlines():
        if line.startswith("+++ "):
            name = line[6:]
        match = re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line)
        if match and match[2] != "0":
            first = int(match[1])
            ranges.setdefault(name, []).append([first, first + int(match[2] or 1) - 1])
    return ranges


def tidy(repository: Repository, base: str, most: int, generated: Path) -> tuple[list[str], int]:
    """Findings of clang-tidy in changed lines of sources, and how many sources it looked at."""
    if not shutil.which("clang-tidy"):
        print("tidy: not checked, needs clang-tidy")
        sys.exit(SKIPPED)
    lines = changed_lines(repository.git("diff", "-U0", "--diff-filter=d", base, "--", "*.cpp"))
    findings = []
    for name in sorted(lines)[:most]:
        run = subprocess.run(["clang-tidy", "--quiet", f"--line-filter={json.dumps([{'name': name, 'lines': lines[name]}])}", name, "--", *FLAGS,
                              f"-I{generated}"], cwd=repository.root, capture_output=True, text=True, check=False)
        findings += sorted(set(line for line in run.stdout.splitlines() if re.search(r":\d+:\d+: (?:warning|error): ", line)))
    return findings, min(most, len(lines))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("base", nargs="?", help="commit before the first that is looked at")
    parser.add_argument("--repository", type=Path, default=Path(__file__).resolve().parents[2])
    parser.add_argument("--units", type=int, default=12, help="sources that are compiled a commit, or looked at by clang-tidy, at most")
    parser.add_argument("--tidy", action="store_true", help="clang-tidy on the lines changed since BASE, 10 to 60 s of CPU a source")
    given = parser.parse_args()
    repository = Repository(given.repository.resolve())
    generated = repository.root / "build"  # protobuf's headers, where the program was built
    base = repository.base(given.base)
    look, sort = (tidy, "source") if given.tidy else (check, "commit")
    findings, count = look(repository, base, given.units, generated)
    for finding in findings:
        print(finding)
    print(f"commits: {len(findings)} finding(s), {count} {sort}(s) since {base[:7]}")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
