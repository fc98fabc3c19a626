"""Which files of the checkout the lint scripts look at, and how they read C.

Works without git, so that a tarball and the small trees of the tests can be checked too. Folders
that hold what was made, not written, are left out.
"""

import os
import re
import sys

MADE = {".git", ".venv", "build", "dist", "__pycache__", ".pytest_cache", ".cache"}

# A comment, a string or a character constant, whichever begins first.
_NOT_CODE = re.compile(
    r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.DOTALL
)


def files(root, suffixes=()):
    """Paths below root, relative and sorted; only those with one of the suffixes, if given."""
    found = []
    for folder, folders, names in os.walk(root):
        folders[:] = [d for d in folders if d not in MADE and not d.endswith(".egg-info")]
        for name in names:
            if not suffixes or name.endswith(tuple(suffixes)):
                path = os.path.relpath(os.path.join(folder, name), root)
                found.append(path.replace(os.sep, "/"))
    return sorted(found)


def read(root, path):
    """The text of a file; None when it is not text."""
    with open(os.path.join(root, path), "rb") as file:
        data = file.read()
    try:
        return None if b"\0" in data else data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def c_code(text):
    """C text with comments and the insides of strings blanked; lines stay where they are."""

    def blank(match):
        kept = re.sub(r"[^\n]", " ", match.group())
        return '""' + kept[2:] if match.group()[0] == '"' else kept

    return _NOT_CODE.sub(blank, text)


def below(path, folders):
    """The longest of the folders that path lies in, or None."""
    inside = [f for f in folders if path == f or path.startswith(f + "/")]
    return max(inside, key=len, default=None)


def report(name, problems, counted):
    """Prints problems, or what was checked; gives the exit status."""
    for problem in problems:
        print(problem)
    if problems:
        print(f"{name}: {len(problems)} broken rule(s)", file=sys.stderr)
        return 1
    print(f"{name}: {counted} files, no broken rule")
    return 0
