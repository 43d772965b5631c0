# SPDX-License-Identifier: BSD-2-Clause
"""Prints the first C block of a Markdown page: extract_c.py PAGE"""
import re
import sys
from pathlib import Path

text = Path(sys.argv[1]).read_text(encoding="utf-8")
block = re.search(r"^```c\n(.*?)^```$", text, re.M | re.S)
if not block:
    sys.exit(f"{sys.argv[1]}: no block that begins with ```c")
line = text[:block.start(1)].count("\n") + 1
print(f'#line {line} "{sys.argv[1]}"')
print(block[1], end="")
