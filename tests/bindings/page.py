# SPDX-License-Identifier: BSD-2-Clause
"""Blocks of one language on a page, of which each is a program."""
import re
from pathlib import Path


def blocks(page, language):
    """(line, text) of each, but for those below <!-- not run: why -->."""
    text = Path(page).read_text(encoding="utf-8")
    found = re.finditer(rf"(<!-- not run: .*? -->\n)?^```{language}\n(.*?)^```$", text, re.M | re.S)
    programs = [(text.count("\n", 0, block.start(2)) + 1, block[2]) for block in found
                if not block[1]]
    assert programs, f"{page} has no {language}"
    return programs


def check_said(name, said):
    """The first block of each language says the same."""
    assert said == "49 black pixels\n", f"{name} says {said!r}"
