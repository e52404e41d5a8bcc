# SPDX-License-Identifier: BSD-2-Clause
"""Flame graphs' pages, for tests: made of profiles that are written as text, and used as people use them.

    with shown(built({"main;work": [3], "main;idle": [1]})) as page:
        click(page, "work")
        assert text(page, "trail").endswith("work")

Every page that is opened must ask the network for nothing but itself and have no word on its console.
"""
import contextlib
import gzip
import os
import re

import browser
import harness as h
from contract import encode

def flame(*arguments, code=0, cwd=None):
    """Runs it; stderr."""
    done = h.run_cprof("flame", *arguments, status=None, cwd=cwd, text=False)
    assert done.returncode == code, f"exit code {done.returncode}: {done.stderr.decode()}"
    return done.stderr.decode()


@contextlib.contextmanager
def opened(path, link="", **options):
    if not browser.path():
        raise h.Skip("no chromium here: nobody looked at a page")
    url = "file://" + path
    with browser.Page(url + link, **options) as page:
        yield page
        page.settle()
        assert not page.complaints, f"the console says {page.complaints}"
        assert page.requests == [url], f"the network was asked for {page.requests}"


@contextlib.contextmanager
def shown(*arguments, **options):
    """The page of profiles."""
    path = os.path.join(h.folder(), "x.html")
    flame(*arguments, "-o", path)
    with opened(path, **options) as page:
        yield page


def built(stacks, types=(("samples", "count"),), mapping="/bin/app", **more):
    """A file with {"root;...;leaf": values}; a frame "f@/lib/x.so" is in another mapping. Labels stand
    behind the stack: "main;f | thread=io pid=7", a number where it is one."""
    strings = [b""]

    def string(text):
        data = text.encode()
        if data not in index:
            index[data] = len(strings)
            strings.append(data)
        return index[data]

    index, mappings, functions, locations, samples = {b"": 0}, {}, {}, {}, []

    def location(frame):
        name, _, path = frame.partition("@")
        where = mappings.setdefault(path or mapping, len(mappings) + 1)
        functions.setdefault(name, len(functions) + 1)
        return locations.setdefault((functions[name], where), len(locations) + 1)

    location("main")
    for stack, values in stacks.items():
        stack, _, labels = stack.partition(" | ")
        ids = [location(frame) for frame in stack.split(";")] if stack else []
        pairs = [label.partition("=")[::2] for label in labels.split()]
        samples.append({"location_id": ids[::-1], "value": values, "label": [
            {"key": string(key), **({"num": int(value)} if value.isdigit() else {"str": string(value)})} for key, value in pairs]})
    profile = {
        "sample_type": [{"type": string(name), "unit": string(unit)} for name, unit in types],
        "sample": samples,
        "mapping": [{"id": i, "memory_start": 4096 * i, "memory_limit": 1 << 40, "filename": string(path),
                     "has_functions": True} for path, i in mappings.items()],
        "function": [{"id": i, "name": string(name), "system_name": string(name),
                      "filename": string("/src/app.c")} for name, i in functions.items()],
        "location": [{"id": i, "mapping_id": where, "address": (1 << 20) + i,
                      "line": [{"function_id": function, "line": 10 + i}]}
                     for (function, where), i in locations.items()],
        "period_type": {"type": string(types[-1][0]), "unit": string(types[-1][1])}, "period": 1, **more}
    profile["string_table"] = strings
    path = os.path.join(h.folder(), "x.pb.gz")
    with open(path, "wb") as file:
        file.write(gzip.compress(encode(profile), 1))
    return path


def recorded():
    """A CPU profile of the workload hot: its path, and what is in it."""
    run = h.cprof("record", "-F", "999", "--", h.workload("hot"), "1").wait()
    return run.output, run.profile()


# What a user sees and does -----------------------------------------------------------------------

def box(page, name, depth="undefined"):
    """Where the widest box of this name (in that row) is drawn: x, y of its middle, width."""
    found = page.js(f"""(() => {{
        const {{ graph }} = page, boxes = ({depth} === undefined ? graph.rows.flat() : graph.rows[{depth}])
            .filter(({{ id }}) => page.profile.name(graph.tree.frame(id)) === {name!r});
        const widest = boxes.sort((a, b) => b.width - a.width)[0];
        if (!widest) return null;
        const area = graph.canvas.getBoundingClientRect();
        return [area.left + widest.x + widest.width / 2,
            area.top + graph.yOf(graph.tree.depth(widest.id)) + 9, widest.width]; }})()""")
    assert found, f"no box {name} is drawn"
    return found


def row(page, depth):
    """The boxes of a row from left to right: [name, value]."""
    return page.js(f"""page.graph.rows[{depth}].sort((a, b) => a.x - b.x)
        .map(({{ id }}) => [page.profile.name(page.graph.tree.frame(id)), page.graph.tree.head(id)])""")


def click(page, name, depth="undefined"):
    x, y, _ = box(page, name, depth)
    page.click(x, y)
    page.settle()


def button(page, element):
    page.js(f"document.getElementById('{element}').scrollIntoView()")
    x, y = page.js(f"(() => {{ const r = document.getElementById('{element}').getBoundingClientRect();"
                   " return [r.left + r.width / 2, r.top + r.height / 2]; })()")
    page.click(x, y)
    page.settle()


def text(page, element):
    return page.js(f"document.getElementById('{element}').textContent")


def choose(page, element, value):
    page.js(f"(() => {{ const e = document.getElementById('{element}'); e.value = {value!r};"
            " e.dispatchEvent(new Event('change')); })()")
    page.settle()


def search(page, words):
    page.js("document.getElementById('search').value = ''; document.activeElement.blur()")
    page.key("/")
    page.type(words)
    page.settle()
    return text(page, "found")


def percent(words):
    return float(re.search(r"([\d.]+) %", words)[1])


def table(page):
    """{function: (flat, cum)} as numbers, of all functions."""
    rows = page.js("""[...page.table.flat.keys()].map(frame =>
        [page.profile.name(frame), page.table.flat[frame], page.table.cum[frame]])""")
    added = {}
    for name, flat, cum in rows:
        before = added.get(name, (0, 0))
        added[name] = (before[0] + flat, before[1] + cum)
    return added


def rows(page):
    return page.js("[...document.querySelectorAll('#table tbody tr')].map(r => [...r.cells].map(c => c.textContent))")


# Profiles ----------------------------------------------------------------------------------------

STACKS = {"main;work;parse;read@/lib/libio.so.1": [4, 40], "main;work;parse": [2, 20],
          "main;work;write@/lib/libio.so.1": [1, 70], "main;idle;parse": [3, 5]}
TYPES = (("samples", "count"), ("space", "bytes"))
ODD_UNIT = (("samples", "count"), ("x", "constructor"))
BASE = {"main;kept": [50], "main;gone;below": [30], "main;grew": [20]}
HEAD = {"main;kept": [50], "main;grew": [80], "main;new": [40]}
