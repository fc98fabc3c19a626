#!/usr/bin/env python3
"""Holds the pages together.

    check_docs.py [ROOT]

- Every relative link of a .md file leads to a file, and its #anchor to a heading there. Links to
  other hosts are not followed.
- Every page below docs/ is linked from the README.md of its own folder.
- A code block behind a line `<!-- run -->` is run by tests/python/test_docs.py, so its language
  must be one that the test runs; and the README must have such a block in C.
"""

import os
import re
import sys

import tree

RUNNABLE = {"c", "sh", "python"}
LINK = re.compile(r"(?<!!)\[[^\]\n]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^```([\w-]*)[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)
MARKED = re.compile(r"<!-- run -->\n```([\w-]*)[^\n]*\n(.*?)^```[ \t]*$", re.MULTILINE | re.DOTALL)


def without_code(text):
    """Fenced and quoted code blanked, line by line."""
    text = FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m.group()), text)
    return re.sub(r"`[^`\n]*`", lambda m: " " * len(m.group()), text)


def anchors(text):
    """What GitHub makes of the headings."""
    found = set()
    for heading in re.findall(r"^#+[ \t]+(.*?)[ \t]*$", FENCE.sub("", text), re.MULTILINE):
        words = re.sub(r"[^\w\- ]", "", heading.lower())
        found.add(words.replace(" ", "-"))
    return found


def runnable_blocks(text):
    """(language, code) of each marked block."""
    return MARKED.findall(text)


def target_of(page, link):
    return os.path.normpath(os.path.join(os.path.dirname(page), link)).replace(os.sep, "/")


def check_link(root, page, link, texts):
    """What is wrong with one link, or None."""
    if re.match(r"[a-z]+:", link):
        return None
    name, _, anchor = link.partition("#")
    target = target_of(page, name) if name else page
    if not os.path.exists(os.path.join(root, target)):
        return f"the link {link} leads nowhere"
    if anchor and target in texts and anchor not in anchors(texts[target]):
        return f"{target} has no heading for #{anchor}"
    return None


def check_page(root, page, texts):
    text = without_code(texts[page])
    problems = []
    for match in LINK.finditer(text):
        problem = check_link(root, page, match.group(1), texts)
        if problem:
            problems.append(f"{page}:{text.count(chr(10), 0, match.start()) + 1}: {problem}")
    for language, _ in runnable_blocks(texts[page]):
        if language not in RUNNABLE:
            problems.append(f"{page}:1: a block marked to run is in {language or 'no language'!r}")
    return problems


def check_index(page, texts):
    """A page of docs/ is linked from the index beside it; an index from the one above."""
    folder, name = os.path.split(page)
    index = f"{os.path.dirname(folder) if name == 'README.md' else folder}/README.md"
    links = [target_of(index, m.group(1)) for m in LINK.finditer(texts.get(index, ""))]
    return [] if page in links else [f"{page}:1: {index} does not link to this page"]


def main(root="."):
    texts = {p: tree.read(root, p) or "" for p in tree.files(root, (".md",))}
    problems = []
    for page in texts:
        problems += check_page(root, page, texts)
        if page.startswith("docs/") and page != "docs/README.md":
            problems += check_index(page, texts)
    if not any(language == "c" for language, _ in runnable_blocks(texts.get("README.md", ""))):
        problems.append("README.md:1: no C example that a test runs")
    return tree.report("check_docs", problems, len(texts))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
