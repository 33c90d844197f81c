"""What the dynamic linker reads of a 64-bit little-endian ELF file, and two changes that need no byte more."""
import struct

DYNAMIC, LOAD = 2, 1  # segments
NEEDED, STRTAB, SYMTAB, STRSZ, SONAME, RUNPATH, RPATH = 1, 5, 6, 10, 14, 29, 15  # entries of the dynamic section
VERSYM, VERNEED, VERNEEDNUM = 0x6FFFFFF0, 0x6FFFFFFE, 0x6FFFFFFF
DYNSYM_SECTION = 11


def is_elf(data):
    return data[:6] == b"\x7fELF\x02\x01"


def version_hash(name):
    """As the System V ABI has it for names in hash tables."""
    value = 0
    for byte in name.encode():
        value = (value << 4) + byte
        value = (value ^ (value & 0xF0000000) >> 24) & 0x0FFFFFFF
    return value


class Elf:
    """`data`: the file's bytes, a bytearray that the changes are made in. ValueError where it is none, or a change not possible."""

    def __init__(self, data):
        if not is_elf(data):
            raise ValueError("not a 64-bit little-endian ELF file")
        self.data = data
        offset, self._sections, count, self._section_count = *self._read("<QQ", 32), *self._read("<H", 56), *self._read("<H", 60)
        segments = [self._read("<IIQQQQQ", offset + 56 * i) for i in range(count)]
        self._loads = [(address, start, size) for kind, _, start, address, _, size, _ in segments if kind == LOAD]
        self._entries = []
        for kind, _, start, _, _, size, _ in segments:
            if kind == DYNAMIC:
                self._entries = [self._read("<qQ", at) for at in range(start, start + size, 16)]
        self._first = dict(reversed(self._entries))
        self._strings = self._at(self._first[STRTAB]) if self._entries else 0

    def _read(self, layout, at):
        return struct.unpack_from(layout, self.data, at)

    def _at(self, address):
        for begin, start, size in self._loads:
            if begin <= address < begin + size:
                return address - begin + start
        raise ValueError(f"nothing is loaded at {address:#x}")

    def _text(self, offset):
        begin = self._strings + offset
        return self.data[begin:self.data.index(0, begin)].decode()

    def _texts(self, tag):
        return [self._text(value) for found, value in self._entries if found == tag]

    @property
    def needed(self):
        return self._texts(NEEDED)

    @property
    def soname(self):
        return next(iter(self._texts(SONAME)), None)

    @property
    def search(self):
        """The folders of RUNPATH, or of RPATH where that alone is there."""
        paths = self._texts(RUNPATH) or self._texts(RPATH)
        return paths[0].split(":") if paths else []

    def _needs(self):
        """(place of the entry, its index, library, version) of every version that is needed."""
        if VERNEED not in self._first:
            return
        at = self._at(self._first[VERNEED])
        for _ in range(self._first[VERNEEDNUM]):
            _, count, library, first, following = self._read("<HHIII", at)
            entry = at + first
            for _ in range(count):
                _, _, index, name, step = self._read("<IHHII", entry)
                yield entry, index, self._text(library), self._text(name)
                entry += step
            at += following

    @property
    def versions(self):
        """(library, version) of every symbol version that other libraries have to have."""
        return sorted({(library, version) for _, _, library, version in self._needs()})

    def _symbols(self):
        """The place in the table of strings of every dynamic symbol's name."""
        for i in range(self._section_count):
            kind, = self._read("<I", self._sections + 64 * i + 4)
            if kind == DYNSYM_SECTION:
                start, size = self._read("<QQ", self._sections + 64 * i + 24)
                return [self._read("<I", at)[0] for at in range(start, start + size, 24)]
        return []

    def of_version(self, version):
        """The names of the symbols that are needed in that version."""
        indices = {index for _, index, _, name in self._needs() if name == version}
        table = self._at(self._first[VERSYM])
        return sorted(self._text(name) for i, name in enumerate(self._symbols())
                      if self._read("<H", table + 2 * i)[0] & 0x7FFF in indices)

    def set_search(self, folders):
        """Replaces the RUNPATH by a shorter one."""
        offset, path = self._first.get(RUNPATH, 0), ":".join(folders).encode()
        room = len(self._text(offset)) if offset else 0
        if len(path) > room:
            raise ValueError(f"a RUNPATH of {room} bytes has no room for {path.decode()}")
        shared = [value for tag, value in self._entries if tag in (NEEDED, SONAME)] + self._symbols()
        if any(offset < value <= offset + room for value in shared):
            raise ValueError("another string is the end of the RUNPATH")
        begin = self._strings + offset
        self.data[begin:begin + room] = path.ljust(room, b"\0")

    def lower(self, version, other, symbols):
        """Has `symbols`, which are all that are needed in `version`, needed in another, of which the file needs something, too."""
        if self.of_version(version) != sorted(symbols):
            raise ValueError(f"in {version} are needed: {', '.join(self.of_version(version)) or 'nothing'}")
        names = {self._text(self._read("<I", entry + 8)[0]): self._read("<I", entry + 8)[0] for entry, *_ in self._needs()}
        if other not in names:
            raise ValueError(f"nothing is needed in {other}")
        for entry, index, _, name in list(self._needs()):
            if name == version:
                struct.pack_into("<IHHI", self.data, entry, version_hash(other), 0, index, names[other])
