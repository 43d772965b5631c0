# SPDX-License-Identifier: BSD-2-Clause
"""Pages of the project, and the fenced blocks of a page."""
import difflib
import re
import sys
from dataclasses import dataclass
from pathlib import Path

TOP = Path(__file__).resolve().parents[2]
NOT_RUN = re.compile(r"<!-- not run: (.+) -->")


@dataclass
class Block:
    page: str
    line: int  # of the first line of text
    language: str
    text: str
    comments: list  # <!-- … --> right above
    above: str  # the last line of prose before

    def __str__(self):
        return f"{self.page}:{self.line}"

    @property
    def not_run(self):
        return any(NOT_RUN.fullmatch(comment) for comment in self.comments)

    @property
    def file(self):
        """The name of the file that it is, if the line above ends with one, as `first.c`: does."""
        name = re.search(r"`([\w.-]+)`:$", self.above)
        return name and name[1]

    def commands(self):
        """Lines of sh, joined where \\ goes on, without comments at the end."""
        for line in re.sub(r"\\\n\s*", "", self.text).splitlines():
            command = re.sub(r"(^|\s+)#\s.*", "", line).strip()
            if command:
                yield command


def pages():
    return sorted([*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "tests").rglob("*.md")])


def blocks(page):
    page, found = Path(page).resolve(), []
    comments, above, block = [], "", None
    for number, line in enumerate(page.read_text(encoding="utf-8").splitlines(), 1):
        if block and line.strip() == "```":
            found.append(block)
            comments, above, block = [], "", None
        elif block:
            block.text += line + "\n"
        elif line.lstrip().startswith("```"):
            block = Block(str(page.relative_to(TOP)), number + 1, line.strip()[3:], "", comments, above)
        elif line.startswith("<!--"):
            comments.append(line)
        elif line:
            comments, above = [], line
    assert not block, f"{block} is not closed"
    return found


def check_printed(where, wanted, printed):
    """… is anything in a line, and a line of it alone any lines."""
    pattern = re.sub(r"^…\\\n", r"(?:.*\n)*", re.escape(wanted), flags=re.M).replace("…", ".*")
    if not re.fullmatch(pattern, printed):
        sys.exit(f"{where}: something else is printed:\n" + "".join(difflib.unified_diff(
            wanted.splitlines(True), printed.splitlines(True), "page", "printed")))
