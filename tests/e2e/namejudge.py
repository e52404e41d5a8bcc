# SPDX-License-Identifier: BSD-2-Clause
"""What binutils know of the names of code: readelf its symbols, sections and FDEs, objdump the stubs of its PLT, c++filt the names as
they are shown. None of it shares code with cprof, or with llvm-symbolizer."""
import bisect
import collections
import itertools
import os
import re

import harness as h

PLT_SECTIONS = (".plt", ".plt.sec", ".plt.got")
CLONES = re.compile(r"(\.(cold|part|constprop|isra|localalias|llvm|lto_priv|clone)(\.\d+)?)+$")


def said(*command, text=None):
    return h.run(*command, input=text, env={**os.environ, "LC_ALL": "C"}).stdout


Symbol = collections.namedtuple("Symbol", "start size name")  # size 0: the file does not say


def symbols_of(path):
    """Those of .symtab and .dynsym that may be functions; what they are called without a version."""
    found = set()
    for line in said("readelf", "-sW", path).splitlines():
        words = line.split()
        if len(words) < 8 or not words[0].rstrip(":").isdigit() or words[6] in ("UND", "ABS"):
            continue
        kind, bind, name = words[3], words[4], words[7].split("@")[0] or words[7]
        if kind in ("FUNC", "IFUNC") or (kind == "NOTYPE" and (bind != "LOCAL" or int(words[2], 0))):
            found.add(Symbol(int(words[1], 16), int(words[2], 0), name))
    return found


def code_of(path):
    """(name, start, end) of the sections of code."""
    return [(name, int(start, 16), int(start, 16) + int(size, 16)) for name, start, size in re.findall(
        r"\] (\S+) +PROGBITS +(\w+) \w+ (\w+) \w+ +AX", said("readelf", "-SW", path))]


def fdes_of(path):
    return sorted({(int(start, 16), int(end, 16)) for start, end in re.findall(
        r"FDE cie=\w+ pc=(\w+)\.\.(\w+)", said("readelf", "--debug-dump=frames", path)) if start != end})


def stubs_of(path, code):
    """(start, end, name) of the stubs that objdump has a name for: it ends where the next one begins. One that an IFUNC of the file
    itself fills has the address of its resolver instead, "*ABS*+0x1234@plt": objdump has no name of it."""
    found = []
    for section, start, end in code:
        if section not in PLT_SECTIONS:
            continue
        text = said("objdump", "-d", "-j", section, path)
        labels = [(int(at, 16), name) for at, name in re.findall(r"^(\w+) <(.+)>:$", text, re.M)]
        for (at, name), (limit, _) in zip(labels, labels[1:] + [(end, "")]):
            if name.endswith("@plt") and not name.startswith("*ABS*"):
                found.append((at, limit, re.sub(r"@[^@]+(?=@plt$)", "", name)))
    return found


class Code:
    """What is known of one file."""

    def __init__(self, path):
        self.code = code_of(path)
        self.symbols, self.by_name = collections.defaultdict(list), collections.defaultdict(list)  # by start, by name
        for symbol in symbols_of(path):
            if self.section(symbol.start):
                self.symbols[symbol.start].append(symbol)
                self.by_name[symbol.name].append(symbol)
        self.fdes = fdes_of(path)
        self.stubs = sorted(stubs_of(path, self.code))
        self.starts = sorted(self.symbols)
        ends = (max(symbol.start + symbol.size for symbol in self.symbols[start]) for start in self.starts)
        self.ends = list(itertools.accumulate(ends, max))  # the greatest so far
        self.edges = sorted({*self.starts, *(start for start, _ in self.fdes)})

    def section(self, address):
        return next((part for part in self.code if part[1] <= address < part[2]), None)

    def fde(self, address):
        """The one that covers it, stubs of the PLT left out: (start, end) or None."""
        at = bisect.bisect_right(self.fdes, (address, 1 << 64)) - 1
        if at < 0 or address >= self.fdes[at][1] or (self.section(address) or ("",))[0] in PLT_SECTIONS:
            return None
        return self.fdes[at]

    def stub(self, address):
        at = bisect.bisect_right(self.stubs, (address, 1 << 64, "")) - 1
        return self.stubs[at][2] if at >= 0 and address < self.stubs[at][1] else ""

    def reaches(self, symbol, address):
        """Whether the function that begins with this symbol has this address: by its size, else by its FDE, else to the next function."""
        if symbol.size:
            return symbol.start <= address < symbol.start + symbol.size
        if symbol.start > address or self.section(symbol.start) != self.section(address):
            return False
        fde = self.fde(symbol.start)
        if fde:
            return address < fde[1]
        return bisect.bisect_right(self.edges, symbol.start) == bisect.bisect_right(self.edges, address)

    def covering(self, address, is_sized):
        """The names of the symbol that has this address and starts last; and those that it has besides."""
        fde, edge = self.fde(address), bisect.bisect_right(self.edges, address)
        first = min(fde[0] if fde else address, self.edges[edge - 1] if edge else address)  # for a symbol without a size
        at = bisect.bisect_right(self.starts, address)
        while at and (self.ends[at - 1] > address if is_sized else self.starts[at - 1] >= first):
            at -= 1
            found = self.symbols[self.starts[at]]
            if any(bool(symbol.size) == is_sized and self.reaches(symbol, address) for symbol in found):
                return {symbol.name for symbol in found}
        return set()

    def names(self, address):
        """All names of the innermost function by its symbols; symbols without a size count where no other has the address."""
        return self.covering(address, True) or self.covering(address, False)

    def named(self, name):
        return self.by_name[name]


def shown(names):
    """By raw name: what c++filt shows; what the compiler says of copies and parts of a function is not shown."""
    names = sorted(names)
    bare = [CLONES.sub("", name.removesuffix("@plt")) for name in names]
    lines = said("c++filt", "--no-verbose", text="\n".join(bare) + "\n").split("\n")[:-1]
    return {name: line + "@plt" * name.endswith("@plt") for name, line in zip(names, lines, strict=True)}


# Reasons ----------------------------------------------------------------------------------------


def reason(code, address, our, their):
    """Why the names of two answers of one address may differ, our and their being "" for none. None: they may not."""
    stub, names = code.stub(address), code.names(address)
    if our.endswith("@plt"):
        return "a stub of the PLT, named as by objdump" if our == stub else None
    if not our:
        if names or stub or any(code.reaches(symbol, address) for symbol in code.named(their)):
            return None
        return "in no symbol of readelf's; llvm-symbolizer has the one before"
    if our not in names:
        return None
    if not their:
        return "a symbol of readelf's that llvm-symbolizer leaves out"
    if their in names:
        return "another name of the same function, by readelf"
    return "the symbol of readelf's; llvm-symbolizer has one that ends before" if not any(
        code.reaches(symbol, address) for symbol in code.named(their)) else None


def is_beginning(code, address, name):
    """Whether a made-up name, file+0x1234, says where the function begins by its FDE; or the address itself, where there is none."""
    found = re.fullmatch(r".*\+0x([0-9a-f]+)", name)
    fde = code.fde(address)
    return bool(found) and int(found[1], 16) == (fde[0] if fde else address)
