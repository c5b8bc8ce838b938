"""A line of a journal, or of a part of it. Needs no other file of linkcast: Dask workers get it too."""
import json
import re
from zlib import crc32

LINE = re.compile(rb'\{"scenario":(\d{1,9}),"crc32":(\d{1,10}),"row":(.*)\}\n', re.S)


def journal_lines(numbers, rows):
    """The checksum is of the row, and begins with the scenario's number."""
    return b"".join(b'{"scenario":%d,"crc32":%d,"row":%b}\n' % (number, crc32(row, int(number)), row) for number, row in zip(numbers, rows))


def read_line(line):
    """@returns  scenario, row. @raises ValueError  what it is not"""
    match = LINE.fullmatch(line)
    if not match:
        raise ValueError("is no line of this journal")
    number = int(match[1])
    if crc32(match[3], number) != int(match[2]):
        raise ValueError("its checksum does not fit: bytes were changed")
    return number, match[3]


def json_of(row, decode=json.JSONDecoder().raw_decode):
    """What json.loads says of a row, in UTF-8 without blanks around it. @raises ValueError"""
    text = row.decode()
    value, end = decode(text)
    if end != len(text):
        raise ValueError("more follows its value")
    return value


def offsets_in(lines):
    """Where each begins."""
    at, offsets = 0, []
    for line in lines.splitlines(keepends=True):
        offsets.append(at)
        at += len(line)
    return offsets
