"""Recordings of what probes saw, by what docs/recording.md says of them."""
import collections
import struct

OBJECT, DISPATCH, PIECE, PROBE, PROBED = 1, 2, 4, 10, 11
COUNT, PASSED, ACTIVE, ACCESS, VALUE, ARRIVE = range(1, 7)
STOPPED = 1

Probe = collections.namedtuple("Probe", "kernel kinds maker counters event_bytes points")
Point = collections.namedtuple("Point", "offset action source flags bytes counter block_bytes instructions target immediate0 "
                                        "immediate1 scalar soffset vector lane_bytes zero")
Wave = collections.namedtuple("Wave", "start hw_id xcc_id x y z first_item end")
Event = collections.namedtuple("Event", "execute offset wave scalar lanes")


class Dispatch:
    """One that was probed."""
    def __init__(self, probe, grid, workgroup, flags, allocations, content, waves, events):
        self.probe, self.grid, self.workgroup, self.flags, self.allocations = probe, grid, workgroup, flags, allocations
        self.all_waves, self.all_events = struct.unpack_from("<II", content)
        self.counters = struct.unpack_from(f"<{probe.counters}Q", content, 64)
        at = -(-(64 + 8 * probe.counters) // 64) * 64
        self.waves = [Wave(*struct.unpack_from("<Q6IQ", content, at + 64 * i)) for i in range(waves)]
        at += 64 * waves
        self.events = []
        for i in range(events):
            execute, offset, wave, *scalar = struct.unpack_from("<QII4I", content, at)
            lanes = struct.unpack_from("<64Q", content, at + 32) if probe.event_bytes > 32 else ()
            self.events.append(Event(execute, offset, wave, scalar, lanes))
            at += probe.event_bytes
        assert at == len(content), (at, len(content))

    def groups(self):
        return [-(-n // of) for n, of in zip(self.grid, self.workgroup)]

    def points(self, action):
        return [point for point in self.probe.points if point.action == action]

    def counted(self, action):
        return {point: self.counters[point.counter] for point in self.points(action)}

    def instructions(self):
        return sum(point.instructions * count for point, count in self.counted(COUNT).items())


def frames(path):
    data = open(path, "rb").read()
    assert data[:8] == b"rawhalRD" and struct.unpack_from("<I", data, 12)[0] == 3, data[:16]
    at = 48
    while at + 24 <= len(data):
        kind, size = struct.unpack_from("<II", data, at)
        if at + 24 + size > len(data):
            break
        yield kind, data[at + 24:at + 24 + size]
        at += 24 + size


def text_at(payload, at, size):
    return payload[at:at + size].decode()


def read(path):
    """The dispatches that were probed, in the order in which they were written."""
    contents, probes, dispatches, probed = collections.defaultdict(bytes), {}, {}, []
    for kind, payload in frames(path):
        if kind == PIECE:
            content, offset = struct.unpack_from("<QQ", payload)
            assert offset == len(contents[content])
            contents[content] += payload[16:]
        elif kind == PROBE:
            probes[struct.unpack_from("<Q", payload)[0]] = payload
        elif kind == DISPATCH:
            words = struct.unpack_from("<QQQ3I4H5I", payload)
            dispatches[words[0]] = words[3:6], words[6:9]
        elif kind == PROBED:
            probed.append(struct.unpack_from("<5Q6I", payload))
    made = []
    for number, probe, content, size, _, flags, waves, events, allocations, names_size, _ in probed:
        _, _, points, _, _, kinds, maker, counters, event_bytes, count, name_size, _ = struct.unpack_from("<4Q8I", probes[probe])
        held = contents[points]
        about = Probe(text_at(probes[probe], 64, name_size), kinds, maker, counters, event_bytes,
                      [Point(*struct.unpack_from("<I4B4I2i4BI", held, 40 * i)) for i in range(count)])
        bytes_ = contents[content]
        assert len(bytes_) == size, (len(bytes_), size)
        ranges, at = [], 24 * allocations
        for i in range(allocations):
            address, length, argument, name = struct.unpack_from("<QQII", bytes_, 24 * i)
            ranges.append((address, length, text_at(bytes_, at, name)))
            at += name
        made.append(Dispatch(about, *dispatches[number], flags, ranges, bytes_[-(-(24 * allocations + names_size) // 64) * 64:],
                             waves, events))
    return made
