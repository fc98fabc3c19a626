#!/usr/bin/env python3
"""Holds the layers: who may include whom.

    check_includes.py [ROOT]

Calls go up one list only: base <- arrow, codec, net <- auth <- client; faces know the public header
and nothing below it; Kiln knows base, arrow and codec. Includes are written from the roots
(include/, src/, the checkout), so that a line says by itself which layer it reaches into. Folders
that judge the others (tests, fuzz, bench, tools) may include anything. Angle brackets around one of
our own headers are judged like quotes. It does not look at what is called through a pointer.
"""

import re
import sys

import tree

PUBLIC = "include/mortar"
BASE, ARROW, CODEC, NET = "src/base", "src/arrow", "src/codec", "src/net"
AUTH, CLIENT = "src/auth", "src/client"
SERVER, RECORDINGS = "kiln/server", "kiln/recordings"

# folder: what its files may include besides their own folder
LAYERS = {
    PUBLIC: [],
    BASE: [PUBLIC],
    ARROW: [PUBLIC, BASE],
    CODEC: [PUBLIC, BASE],
    NET: [PUBLIC, BASE],
    AUTH: [PUBLIC, BASE, NET, CODEC],
    CLIENT: [PUBLIC, BASE, ARROW, CODEC, NET, AUTH],
    "src/adbc": [PUBLIC],
    "src/odbc": [PUBLIC],
    "python": [PUBLIC],
    "cli": [PUBLIC],
    "examples": [PUBLIC],
    RECORDINGS: [PUBLIC, BASE],
    SERVER: [PUBLIC, BASE, ARROW, CODEC],
    "kiln/engine": [PUBLIC, BASE, ARROW, CODEC, SERVER],
    "kiln/canned": [PUBLIC, BASE, ARROW, CODEC, SERVER],
    "kiln/replay": [PUBLIC, BASE, CODEC, RECORDINGS, SERVER],
    "kiln/python": [PUBLIC, BASE, ARROW, CODEC, SERVER, "kiln/engine", "kiln/replay"],
}
FREE = ["tests", "fuzz", "bench", "tools"]

# Headers of others that only some layers may know, by how their name begins.
OTHERS = {
    "curl/": [NET, AUTH],
    "openssl/": [NET, AUTH, SERVER],
    "sys/socket.h": [NET, "kiln"],
    "event2/": [SERVER, "kiln/canned"],
    "jansson.h": [CODEC, AUTH, "kiln"],
    "lz4": [ARROW, CODEC],
    "zstd.h": [ARROW, CODEC],
    "Python.h": ["python", "kiln/python"],
}

INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^>"\n]+)[>"]', re.MULTILINE)


def folder_of(name, ours):
    """The path of one of our own headers as it is included; None for a header of others."""
    for root in ("include/", "src/", ""):
        if root + name in ours:
            return root + name
    return None


def judge(path, layer, bracket, name, ours):
    """What is wrong with one include, or None."""
    target = folder_of(name, ours)
    if target:
        allowed = [layer, *LAYERS[layer]]
        if tree.below(target, allowed) is None:
            return f"{layer} must not include {name}; it may know {', '.join(allowed)}"
        return None
    if bracket == '"':
        return f'"{name}" is no header of ours, written from include/, src/ or the checkout'
    for start, layers in OTHERS.items():
        if name.startswith(start) and tree.below(path, layers) is None:
            return f"{layer} must not include <{name}>; only {', '.join(layers)} may"
    return None


def check_file(root, path, ours):
    layer = tree.below(path, LAYERS)
    if layer is None:
        return [f"{path}:1: no layer is known for this folder; give it one in check_includes.py"]
    text = tree.read(root, path) or ""
    problems = []
    for match in INCLUDE.finditer(text):
        problem = judge(path, layer, match.group(1), match.group(2), ours)
        if problem:
            problems.append(f"{path}:{text.count(chr(10), 0, match.start()) + 1}: {problem}")
    return problems


def main(root="."):
    paths = tree.files(root, (".c", ".h"))
    ours = set(paths)
    judged = [p for p in paths if tree.below(p, FREE) is None]
    problems = [problem for p in judged for problem in check_file(root, p, ours)]
    return tree.report("check_includes", problems, len(judged))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
