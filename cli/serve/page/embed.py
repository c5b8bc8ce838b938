#!/usr/bin/env python3
"""Writes files as constants of a C++ header: embed.py HEADER FILE ..."""
import sys
from pathlib import Path

CHUNK = 8000  # characters; compilers need to take 65,536 in a literal


def literal(text: str) -> str:
    pieces = [text[i:i + CHUNK] for i in range(0, len(text), CHUNK)]
    return "\n".join(f'    R"page~({piece})page~"' for piece in pieces)


def main() -> None:
    target, *names = sys.argv[1:]
    rows = [f'  {{"{Path(name).name}",\n{literal(Path(name).read_text())}}},' for name in names]
    Path(target).write_text("\n".join(["// From cli/serve/page by embed.py.", "#include <string_view>", "",
                                       "struct EmbeddedFile {", "  std::string_view name, content;", "};",
                                       "inline constexpr EmbeddedFile kPageFiles[] = {", *rows, "};", ""]))


if __name__ == "__main__":
    main()
