# SPDX-License-Identifier: BSD-2-Clause
"""Tables that stand between the comments

    <!-- made by ./dev docs: NAME -->
    <!-- /made -->

of a page, and are made. For elements.py and parameters.py.
"""
import difflib
import re

BLOCK = re.compile(r"(<!-- made by \./dev docs: (\w+) -->\n).*?(<!-- /made -->)", re.S)


def table(head, rows):
    return "\n".join(f"| {' | '.join(cells)} |" for cells in [head, ["---"] * len(head), *rows])


def number(value):
    """Single precision has seven digits."""
    return f"{value:.7g}" if isinstance(value, float) else str(value)


def blocks(text):
    """The names of the tables that are to be made in it."""
    return [name for _, name, _ in BLOCK.findall(text)]


def remake(page, make, check):
    """Writes the tables that make gives for their names into a page; or, to check, gives the lines in
    which that would change it."""
    text = page.read_text(encoding="utf-8")
    made = BLOCK.sub(lambda block: f"{block[1]}{make(block[2])}\n{block[3]}", text)
    if not check:
        page.write_text(made, encoding="utf-8")
        return []
    return list(difflib.unified_diff(text.splitlines(), made.splitlines(), str(page),
                                     f"{page.name}, as ./dev docs makes it", lineterm=""))
