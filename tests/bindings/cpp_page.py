# SPDX-License-Identifier: BSD-2-Clause
"""What the documentation has of C++ builds as it says, and runs; what the header's comments have of
it compiles.

usage: cpp_page.py PAGE HEADER-FOLDER C++-COMPILER...
"""
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import page

# What the header's examples are about, as a program would have it.
AROUND = """#include <vector>
#include "gpuvision.hpp"
extern std::int32_t width, height, queries, trains;
extern std::int64_t luma_stride, chroma_stride;
extern std::vector<std::uint8_t> from, to;
extern std::uint8_t *luma, *chroma;
extern gpv::ConstImage src, terminals, links, first, second, third;
extern gpv::Image dst, labels, recoloured, picture, mask;
extern gpv::ConstBuffer query, train;
extern gpv_rect rect;
extern gpv::Erode erode;
extern gpv::Ccl ccl;
extern gpv::Kmeans kmeans;
extern gpv::Sift sift;
extern gpv::Match match;
extern gpv::Expansion expansion;
extern gpv::Graphcut graphcut;
extern gpv::Segment segment;
"""


def examples(header):
    """The header's indented comments as functions, each compiled where it stands."""
    text = header.read_text(encoding="utf-8")
    for block in re.finditer(r"(?:^/// {5}.*\n)+", text, re.M):
        line = text.count("\n", 0, block.start()) + 1
        code = block[0].replace("///", "")
        yield f'void at_line_{line}() {{\n#line {line} "{header}"\n{code}}}\n'


documentation, header, *compiler = sys.argv[1:]
flags = subprocess.run(["pkg-config", "--cflags", "--libs", "gpuvision"], check=True, text=True,
                       capture_output=True).stdout.split()
with tempfile.TemporaryDirectory() as folder:
    source, program = Path(folder, "program.cpp"), Path(folder, "program")
    for line, text in page.blocks(documentation, "cpp"):
        source.write_text(text)
        subprocess.run([*compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-I", header, source,
                        "-o", program, *flags], check=True)
        said = subprocess.run([program], check=True, text=True, capture_output=True).stdout
        page.check_said(f"{documentation}:{line}", said)
    functions = list(examples(Path(header, "gpuvision.hpp")))
    assert len(functions) > 5, f"{header} has {len(functions)} examples"
    source.write_text(AROUND + "".join(functions))
    subprocess.run([*compiler, "-std=c++20", "-Wall", "-Wextra", "-Werror", "-Wno-unused",
                    "-Wno-unused-command-line-argument", "-I", header, "-fsyntax-only", source,
                    *flags], check=True)
print("ok")
