#!/usr/bin/env python3
"""Refuses calls and words that have no place here.

    check_banned.py [ROOT]

The rules are the tables below. C is judged without its comments and strings; calls through a
pointer (x->free(p)) are the callee's business. Words are looked for in every text file.
"""

import re
import sys

import tree

SHIPPED = ["include", "src", "kiln", "cli", "examples", "python", "tools", "bench"]

# name of the rule, calls, where it holds, where it does not, why
CALLS = [
    (
        "memory",
        "malloc calloc realloc free strdup strndup aligned_alloc posix_memalign",
        ["src"],
        ["src/base/alloc.c"],
        "memory comes from base/alloc.h only",
    ),
    (
        "silence",
        "printf fprintf vprintf vfprintf dprintf puts putchar perror exit _exit abort assert",
        ["src"],
        ["src/base/error.h"],
        "the library never prints, exits or aborts",
    ),
    (
        "unbounded",
        "sprintf vsprintf strcpy strcat gets alloca strtok tmpnam mktemp",
        [""],
        [],
        "it has no bound or keeps a hidden state",
    ),
    (
        "unreported",
        "atoi atol atoll atof",
        SHIPPED,
        [],
        "it takes anything for a number",
    ),
    (
        "tuples",
        "PyObject_Call PyObject_CallObject",
        ["python/native"],
        [],
        "it wants a tuple of arguments; PyObject_Vectorcall takes them as they are",
    ),
    (
        "shell",
        "system popen",
        SHIPPED,
        [],
        "no shell between us and the system",
    ),
]

# The classes in brackets keep these lines from finding themselves.
WORDS = [
    (re.compile(r"(?<![\w.}*)~-])/(?:[h]ome|[r]oot|[w]ork|[U]sers)/\w"), "names a path of one machine"),
    (re.compile(r"--(?:extra-)?[i]ndex-url|--[t]rusted-host|--[f]ind-links"), "names a package index"),
]


def call_pattern(names):
    return re.compile(r"(?<![\w.>])(" + "|".join(names.split()) + r")\s*\(")


def holds(path, where, spared):
    inside = where == [""] or tree.below(path, where) is not None
    return inside and tree.below(path, spared) is None


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def check_calls(path, code):
    problems = []
    for rule, names, where, spared, why in CALLS:
        if holds(path, where, spared):
            for match in call_pattern(names).finditer(code):
                line = line_of(code, match.start())
                problems.append(f"{path}:{line}: {match.group(1)}(): {why} [{rule}]")
    return problems


def check_words(path, text):
    return [
        f"{path}:{line_of(text, match.start())}: {match.group()!r} {why}"
        for pattern, why in WORDS
        for match in pattern.finditer(text)
    ]


def main(root="."):
    problems = []
    paths = tree.files(root)
    for path in paths:
        text = tree.read(root, path)
        if text is None:
            continue
        problems += check_words(path, text)
        if path.endswith((".c", ".h")):
            problems += check_calls(path, tree.c_code(text))
    return tree.report("check_banned", problems, len(paths))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
