"""Which line of the source an address of a code object comes from, by its `.debug_line` section.

Pure Python, no device and no library: a code object that a compiler of Triton's, HIP's or OpenCL's
made with line tables (DWARF 2 to 5, 64-bit little-endian ELF, paths relative to nothing but the
table itself). The bytes are not trusted: a table that makes no sense answers "unknown"."""
from __future__ import annotations

import linecache
import os
import stat
import struct
from bisect import bisect_right
from dataclasses import dataclass
from typing import Iterator, Optional

SHT_NOBITS = 8
SHF_COMPRESSED = 0x800
#: `.debug_line` of more than this many rows is read no further.
MAX_ROWS = 1 << 20
#: A source of more bytes than this is not read.
MAX_SOURCE_BYTES = 1 << 24


@dataclass(frozen=True)
class SourceLine:
    """A place in a source file. `text` is the line itself, stripped, or "" where the file is not
    there."""
    file: str
    line: int
    text: str

    def __str__(self) -> str:
        return f"{self.file}:{self.line}" + (f": {self.text}" if self.text else "")


class _Malformed(Exception):
    pass


class _Reader:
    """A cursor over bytes; every read is checked."""

    def __init__(self, data: bytes, at: int = 0, end: Optional[int] = None):
        self.data, self.at, self.end = data, at, len(data) if end is None else end
        if not 0 <= at <= self.end <= len(data):
            raise _Malformed

    def take(self, size: int) -> bytes:
        if size < 0 or size > self.end - self.at:
            raise _Malformed
        self.at += size
        return self.data[self.at - size:self.at]

    def unsigned(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little")

    def signed(self, size: int) -> int:
        return int.from_bytes(self.take(size), "little", signed=True)

    def uleb(self) -> int:
        value = shift = 0
        while shift < 70:
            byte = self.unsigned(1)
            value |= (byte & 0x7f) << shift
            shift += 7
            if byte < 0x80:
                return value
        raise _Malformed

    def sleb(self) -> int:
        start = self.at
        value = self.uleb()
        bits = 7 * (self.at - start)
        return value - (1 << bits) if value >> (bits - 1) else value

    def string(self) -> str:
        end = self.data.find(b"\0", self.at, self.end)
        if end < 0:
            raise _Malformed
        text = self.data[self.at:end]
        self.at = end + 1
        return text.decode("utf-8", "replace")


def _sections(elf: bytes) -> dict[str, bytes]:
    """The contents of the sections that line tables need, by name."""
    if elf[:6] != b"\x7fELF\x02\x01" or len(elf) < 64:
        raise _Malformed
    table, = struct.unpack_from("<Q", elf, 40)
    entry_size, count, names_index = struct.unpack_from("<3H", elf, 58)
    if entry_size < 64 or table + entry_size * count > len(elf) or names_index >= count:
        raise _Malformed

    def header(index: int) -> tuple:
        return struct.unpack_from("<IIQQQQ", elf, table + entry_size * index)

    def content(head: tuple) -> bytes:
        _, kind, flags, _, offset, size = head
        if kind == SHT_NOBITS or flags & SHF_COMPRESSED or offset + size > len(elf):
            return b""
        return elf[offset:offset + size]

    names = content(header(names_index))
    found = {}
    for index in range(count):
        head = header(index)
        name = _text_at(names, head[0])
        if name in (".debug_line", ".debug_line_str", ".debug_str"):
            found[name] = content(head)
    return found


def _text_at(strings: bytes, offset: int) -> str:
    return _Reader(strings, offset).string()


# What an attribute of a file or folder in the table's header is written as: DW_FORM_*.
_FIXED_FORMS = {0x0b: 1, 0x05: 2, 0x06: 4, 0x07: 8, 0x1e: 16}
_STRING, _STRP, _LINE_STRP, _UDATA, _BLOCK = 0x08, 0x0e, 0x1f, 0x0f, 0x09
_PATH, _FOLDER = 1, 2  # DW_LNCT_path, DW_LNCT_directory_index


def _form(reader: _Reader, form: int, offset_size: int, sections: dict[str, bytes]):
    if form in _FIXED_FORMS:
        return reader.unsigned(_FIXED_FORMS[form])
    if form == _STRING:
        return reader.string()
    if form == _STRP:
        return _text_at(sections.get(".debug_str", b""), reader.unsigned(offset_size))
    if form == _LINE_STRP:
        return _text_at(sections.get(".debug_line_str", b""), reader.unsigned(offset_size))
    if form == _UDATA:
        return reader.uleb()
    if form == _BLOCK:
        return reader.take(reader.uleb())
    raise _Malformed


def _entries(reader: _Reader, offset_size: int,
             sections: dict[str, bytes]) -> list[dict[int, object]]:
    """Folders, or files, of a header of version 5: what each is told by comes first."""
    formats = [(reader.uleb(), reader.uleb()) for _ in range(reader.unsigned(1))]
    count = reader.uleb()
    if count > reader.end - reader.at:
        raise _Malformed
    return [{kind: _form(reader, form, offset_size, sections) for kind, form in formats}
            for _ in range(count)]


def _join(folders: list[str], index: object, path: object) -> str:
    path = str(path)
    if (path.startswith("/") or not isinstance(index, int) or not 0 <= index < len(folders)
        or not folders[index]):
        return path
    folder = folders[index]
    if not folder.startswith("/") and folders[0] and folder != folders[0]:
        folder = f"{folders[0]}/{folder}"
    return f"{folder}/{path}"


def _files(reader: _Reader, version: int, offset_size: int,
           sections: dict[str, bytes]) -> list[str]:
    if version >= 5:
        folders = [str(each.get(_PATH, "")) for each in _entries(reader, offset_size, sections)]
        return [_join(folders, each.get(_FOLDER, 0), each.get(_PATH, ""))
                for each in _entries(reader, offset_size, sections)]
    folders, files = [""], [""]
    while folder := reader.string():
        folders.append(folder)
    while name := reader.string():
        files.append(_join(folders, reader.uleb(), name))
        reader.uleb(), reader.uleb()  # its time and its length
    return files


Row = tuple[int, int, int, bool]  # address, index of the file, line, whether a sequence ends here


def _program(reader: _Reader, minimum: int, line_base: int, line_range: int,
             lengths: list[int]) -> Iterator[Row]:
    """Runs a line-number program: its rows, in its own order."""
    opcode_base = len(lengths) + 1
    address, file, line = 0, 1, 1
    while reader.at < reader.end:
        opcode = reader.unsigned(1)
        if opcode >= opcode_base:
            opcode -= opcode_base
            address += opcode // line_range * minimum
            line += line_base + opcode % line_range
            yield address, file, line, False
        elif opcode == 0:
            length = reader.uleb()
            extended = _Reader(reader.data, reader.at, reader.at + length)
            reader.take(length)
            kind = extended.unsigned(1)
            if kind == 1:  # the end of a sequence
                yield address, file, line, True
                address, file, line = 0, 1, 1
            elif kind == 2:
                address = extended.unsigned(min(extended.end - extended.at, 8))
        elif opcode == 1:
            yield address, file, line, False
        elif opcode == 2:
            address += reader.uleb() * minimum
        elif opcode == 3:
            line += reader.sleb()
        elif opcode == 4:
            file = reader.uleb()
        elif opcode == 8:
            address += (255 - opcode_base) // line_range * minimum
        elif opcode == 9:
            address += reader.unsigned(2)
        else:  # what says nothing about lines
            for _ in range(lengths[opcode - 1]):
                reader.uleb()


def _unit(reader: _Reader, sections: dict[str, bytes]) -> Iterator[tuple[int, str, int, bool]]:
    """One table: rows of address, file, line, end."""
    length, offset_size = reader.unsigned(4), 4
    if length == 0xffffffff:
        length, offset_size = reader.unsigned(8), 8
    unit = _Reader(reader.data, reader.at, reader.at + length)
    reader.take(length)
    version = unit.unsigned(2)
    if not 2 <= version <= 5:
        return
    if version >= 5:
        unit.take(2)  # sizes of an address and of a segment's selector
    header = unit.unsigned(offset_size)
    program = _Reader(unit.data, unit.at + header, unit.end)
    minimum = unit.unsigned(1)
    if version >= 4:
        unit.take(1)  # operations of a VLIW instruction
    unit.take(1)  # whether rows are statements
    line_base, line_range = unit.signed(1), unit.unsigned(1)
    lengths = list(unit.take(max(unit.unsigned(1) - 1, 0)))
    if line_range == 0:
        raise _Malformed
    files = _files(unit, version, offset_size, sections)
    for address, file, line, end in _program(program, minimum, line_base, line_range, lengths):
        yield address, files[file] if 0 <= file < len(files) else "", line, end


def _text_of(path: str, line: int) -> str:
    """An object may name any file, also one that never ends, or that waits for a writer."""
    try:
        known = os.stat(path)
    except (OSError, ValueError):
        return ""
    if not stat.S_ISREG(known.st_mode) or known.st_size > MAX_SOURCE_BYTES:
        return ""
    return linecache.getline(path, line).strip()


class LineTable:
    """The line table of one code object. `find()` is a binary search; making it reads the table
    once.

    A table that cannot be read, or is not there, is empty: `bool(table)` is False then."""

    def __init__(self, elf: bytes, folder: str = ""):
        self._folder = folder  # where files with a relative path are looked for
        rows: list[tuple[int, str, int, bool]] = []
        try:
            sections = _sections(elf)
            reader = _Reader(sections.get(".debug_line", b""))
            while reader.at < reader.end and len(rows) < MAX_ROWS:
                rows.extend(_unit(reader, sections))
        except (_Malformed, struct.error):
            pass  # what was read until then holds
        # At one address the row that comes last counts, and one that begins before one that ends.
        self._rows = [row for _, row in sorted(
            enumerate(rows), key=lambda each: (each[1][0], not each[1][3], each[0]))]
        self._addresses = [row[0] for row in self._rows]

    def __bool__(self) -> bool:
        return bool(self._rows)

    def find(self, address: int) -> Optional[SourceLine]:
        """The line that the instruction at `address`, an address of the object, comes from; None if
        unknown.

        Line 0 is what a compiler made up: the nearest line before it in the same sequence is
        meant."""
        index = bisect_right(self._addresses, address) - 1
        while index >= 0 and not self._rows[index][3]:
            _, file, line, _ = self._rows[index]
            if line > 0 and file:
                return SourceLine(file, line, _text_of(os.path.join(self._folder, file), line))
            index -= 1
        return None
