"""Reads tests/mutation/defects.txt, says whether it still fits the sources, and writes sources that hold all defects:
each is chosen when the program runs, by its number in LINKCAST_MUTANT, so that one build serves all."""
import re
from dataclasses import dataclass
from pathlib import Path

LIST = Path(__file__).with_name("defects.txt")
MARKED = re.compile(r"^(?P<before>[^«»]*)«(?P<old>[^«»]+)»(?P<after>[^«»]*)$")

# What chooses. LINKCAST_MUTANT_REACHED names a file that gets the number of each defect whose place is reached.
CHOICE = """#ifndef LINKCAST_MUTANT_CHOICE
#define LINKCAST_MUTANT_CHOICE
#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <cstdlib>
#include <string>
inline bool linkcast_mutant(int number) {
  static const char* const chosen = std::getenv("LINKCAST_MUTANT");
  static const int one = chosen != nullptr ? std::atoi(chosen) : 0;
  static const char* const reached = std::getenv("LINKCAST_MUTANT_REACHED");
  static std::atomic<bool> seen[1024];
  if (reached != nullptr && !seen[number].exchange(true)) {
    const std::string line = std::to_string(number) + "\\n";
    const int file = ::open(reached, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0644);
    if (file < 0 || ::write(file, line.data(), line.size()) < 0) std::abort();
    ::close(file);
  }
  return number == one;
}
#endif
"""


@dataclass(frozen=True)
class Defect:
    number: int
    room: str
    file: str
    means: str
    line: int  # of the list
    before: str
    old: str
    after: str
    new: str

    @property
    def text(self) -> str:
        return self.before + self.old + self.after

    @property
    def chosen(self) -> str:
        """What stands for the marked text."""
        if self.old.endswith(";"):
            return f"{{ if (linkcast_mutant({self.number})) {{ {self.new} }} else {{ {self.old} }} }}"
        return f"(linkcast_mutant({self.number}) ? ({self.new}) : ({self.old}))"


class Malformed(Exception):
    pass


def read(path: Path = LIST) -> list[Defect]:
    defects, room = [], ""
    lines = path.read_text(encoding="utf-8").splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            room = line.strip("[] ")
            continue
        file, colon, means = line.partition(": ")
        rest = lines[at:at + 2]
        if not room or not colon or len(rest) < 2 or not rest[0].startswith("- ") or not rest[1].startswith("+"):
            raise Malformed(f"{path.name}:{at}: a defect is 'FILE: what it means', '- code', '+ what stands there instead'")
        marked = MARKED.match(rest[0][2:])
        if not marked:
            raise Malformed(f"{path.name}:{at + 1}: one pair of marks « » is needed")
        defects.append(Defect(len(defects) + 1, room, file, means, at, marked["before"], marked["old"], marked["after"], rest[1][1:].strip()))
        at += 2
    return defects


def findings(defects: list[Defect], root: Path) -> list[str]:
    """What no longer fits the sources."""
    found = []
    for defect in defects:
        place = f"{LIST.name}:{defect.line}: {defect.file}"
        if not (root / defect.file).is_file():
            found.append(f"{place}: no such file")
            continue
        times = (root / defect.file).read_text(encoding="utf-8").count(defect.text)
        if times != 1:
            found.append(f"{place}: found {times} times, must be once: {defect.text}")
        if defect.new == defect.old or (not defect.new and not defect.old.endswith(";")):
            found.append(f"{place}: replaced by itself, or an expression by nothing")
        if re.match(r"[-<>=!&|+*/%^]+( |$)", defect.old):
            found.append(f"{place}: an operator is no expression: mark its operands too")
    return found


def mutated(text: str, defects: list[Defect]) -> str:
    """A file with its defects, all of them asleep. Two may lie on one line, but not in each other."""
    for defect in defects:
        if defect.text in text:
            chosen = defect.before.replace("constexpr ", "const ") + defect.chosen  # chosen when the program runs
            text = text.replace(defect.text, chosen + defect.after)
        else:  # another defect changed what surrounds this one
            start = text.find(defect.old)
            if text.count(defect.old) != 1:
                raise Malformed(f"{LIST.name}:{defect.line}: lies in the text of another defect")
            text = text[:start] + defect.chosen + text[start + len(defect.old):]
    return CHOICE + text
