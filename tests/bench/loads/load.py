# SPDX-License-Identifier: BSD-2-Clause
"""A python3 at work: its own compiler, C modules that call back, recursion, generators, C libraries."""
import ast
import hashlib
import inspect
import json
import re
import sys
import time
import xml.etree.ElementTree as tree
import zlib

SOURCE = inspect.getsource(ast)


def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)


def walk(node):
    yield node
    for child in ast.iter_child_nodes(node):
        yield from walk(child)


def turn():
    parsed = ast.parse(SOURCE)
    compile(parsed, "x", "exec")
    records = [{"id": i, "name": type(node).__name__} for i, node in enumerate(walk(parsed))]
    text = json.dumps(records)
    sorted(json.loads(text, object_hook=dict), key=lambda r: (r["name"], -r["id"]))
    re.sub(r"(\w+)Node", lambda m: m.group(1).lower(), SOURCE)
    hashlib.sha256(zlib.compress(text.encode())).hexdigest()
    tree.fromstring("<a>" + "<b c='d'>e</b>" * 2000 + "</a>")
    fib(16)


end = time.time() + float(sys.argv[1])
while time.time() < end:
    turn()
