# SPDX-License-Identifier: BSD-2-Clause
"""Prints the C block of a Markdown page, which has one: extract_c.py PAGE"""
import re
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text(encoding="utf-8")
blocks = list(re.finditer(r"^```c\n(.*?)^```$", text, re.M | re.S))
if len(blocks) != 1:
    sys.exit(f"{sys.argv[1]}: {len(blocks)} blocks that begin with ```c, not one")
block = blocks[0]
line = text[:block.start(1)].count("\n") + 1
print(f'#line {line} "{sys.argv[1]}"')
print(block[1], end="")
