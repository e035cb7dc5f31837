#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""damage.py DIR: builds DIR/healthy and damaged copies of it that still run, since a kernel reads of a program
nothing but its program headers. Prints the copies' names, and behind each "names" if its symbols are intact."""
import os
import struct
import subprocess
import sys

HEADER = {'shoff': (0x28, 'Q'), 'shentsize': (0x3a, 'H'), 'shnum': (0x3c, 'H'), 'shstrndx': (0x3e, 'H')}
SECTION = {'name': (0, 'I'), 'type': (4, 'I'), 'flags': (8, 'Q'), 'addr': (16, 'Q'), 'offset': (24, 'Q'),
           'size': (32, 'Q'), 'link': (40, 'I'), 'info': (44, 'I'), 'entsize': (56, 'Q')}
SYMBOL = {'name': (0, 'I'), 'value': (8, 'Q'), 'size': (16, 'Q')}
MAX64 = (1 << 64) - 1


class Elf:
    def __init__(self, data):
        self.data = bytearray(data)
        self.shoff = self.header('shoff')
        strings = self.field(self.header('shstrndx'), 'offset')
        self.index = {}
        for i in range(self.header('shnum')):
            at = strings + self.field(i, 'name')
            self.index[bytes(self.data[at:self.data.index(b'\0', at)]).decode()] = i

    def get(self, at, kind):
        return struct.unpack_from('<' + kind, self.data, at)[0]

    def put(self, at, kind, value):
        struct.pack_into('<' + kind, self.data, at, value)

    def header(self, name):
        return self.get(*HEADER[name])

    def set_header(self, **values):
        for name, value in values.items():
            self.put(*HEADER[name], value)

    def field(self, i, name):
        offset, kind = SECTION[name]
        return self.get(self.shoff + 64 * i + offset, kind)

    def set(self, section, **values):
        for name, value in values.items():
            offset, kind = SECTION[name]
            self.put(self.shoff + 64 * self.index[section] + offset, kind, value)

    def start(self, section):
        return self.field(self.index[section], 'offset')

    def size(self, section):
        return self.field(self.index[section], 'size')

    def set_symbols(self, **values):
        for at in range(self.start('.symtab') + 24, self.start('.symtab') + self.size('.symtab'), 24):
            for name, value in values.items():
                offset, kind = SYMBOL[name]
                self.put(at + offset, kind, value)

    def fill(self, section, skip, byte):
        at, n = self.start(section) + skip, self.size(section) - skip
        self.data[at:at + n] = bytes([byte]) * n


def swap_names(elf):
    """Gives leaf's symbol the name of middle and the other way round: a lie that no check can find."""
    at, n = elf.start('.strtab'), elf.size('.strtab')
    strings = bytes(elf.data[at:at + n])
    swapped = strings.replace(b'\0health_leaf\0', b'\0@\0').replace(b'\0health_stem\0', b'\0health_leaf\0')
    elf.data[at:at + n] = swapped.replace(b'\0@\0', b'\0health_stem\0')


DAMAGES = {
    # section headers: nothing of a section can be found
    'shoff-far': lambda e: e.set_header(shoff=1 << 40),
    'shoff-wraps': lambda e: e.set_header(shoff=MAX64 - 63),
    'shoff-odd': lambda e: e.set_header(shoff=5),
    'shnum-many': lambda e: e.set_header(shnum=0xfeff),
    'shnum-none': lambda e: e.set_header(shnum=0),
    'shentsize-1': lambda e: e.set_header(shentsize=1),
    'shentsize-max': lambda e: e.set_header(shentsize=0xffff),
    'sections-gone': lambda e: e.set_header(shoff=0, shnum=0, shstrndx=0),
    # the symbol table
    'symtab-huge': lambda e: e.set('.symtab', size=1 << 60),
    'symtab-far': lambda e: e.set('.symtab', offset=1 << 52),
    'symtab-link-far': lambda e: e.set('.symtab', link=4711),
    'symtab-link-me': lambda e: e.set('.symtab', link=e.index['.symtab']),
    'symtab-nobits': lambda e: e.set('.symtab', type=8),
    'strtab-tiny': lambda e: e.set('.strtab', size=1),
    'names-far': lambda e: e.set_symbols(name=0xfffffff0),
    'values-wrap': lambda e: e.set_symbols(value=MAX64 - 7),
    'values-equal': lambda e: e.set_symbols(value=e.get(0x18, 'Q')),
    'names-swapped': swap_names,
    # the rest: symbols are as they were
    'shstrndx-far+': lambda e: e.set_header(shstrndx=0xff00 - 1),
    'sizes-max+': lambda e: e.set_symbols(size=MAX64),
    'ehframe-long+': lambda e: e.put(e.start('.eh_frame'), 'I', 0xfffffff0),
    'ehframe-64+': lambda e: e.put(e.start('.eh_frame'), 'I', 0xffffffff),
    'ehframe-no-nul+': lambda e: e.fill('.eh_frame', 9, 0x7a),
    'ehframe-leb+': lambda e: e.fill('.eh_frame', 12, 0xff),
    'ehframe-huge+': lambda e: e.set('.eh_frame', size=1 << 62),
    'note-desc+': lambda e: e.put(e.start('.note.gnu.build-id') + 4, 'I', 0xfffffff0),
    'note-name+': lambda e: e.put(e.start('.note.gnu.build-id'), 'I', 0xffffffff),
    'info-compress+': lambda e: (e.set('.debug_info', flags=0x800),
                                 e.data.__setitem__(slice(e.start('.debug_info'), e.start('.debug_info') + 24),
                                                    struct.pack('<IIQQ', 1, 0, 1 << 63, 1))),
    'abbrev-far+': lambda e: e.set('.debug_abbrev', offset=1 << 45),
}


def main(where):
    healthy = os.path.join(where, 'healthy')
    subprocess.check_call(['gcc', '-O2', '-g', '-gz=none', '-nostdlib', '-static', '-ffreestanding',
                           '-fno-stack-protector', '-fno-omit-frame-pointer', '-mno-omit-leaf-frame-pointer',
                           '-Wl,--build-id=sha1', '-x', 'c', 'tests/workload/health.inc', '-o', healthy])
    with open(healthy, 'rb') as f:
        good = f.read()
    for name, damage in DAMAGES.items():
        elf = Elf(good)
        damage(elf)
        path = os.path.join(where, name.rstrip('+'))
        with open(path, 'wb') as f:
            f.write(elf.data)
        os.chmod(path, 0o755)
        print(name.rstrip('+'), 'names' if name.endswith('+') else '')
    # One that seems to be of 4 GiB, and one that is cut behind what is mapped.
    with open(os.path.join(where, 'hole'), 'wb') as f:
        f.write(good)
        f.truncate(4 << 30)
    os.chmod(os.path.join(where, 'hole'), 0o755)
    print('hole', 'names')


main(sys.argv[1])
