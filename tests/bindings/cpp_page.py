# SPDX-License-Identifier: BSD-2-Clause
"""What the documentation has of C++ builds as it says, and runs.

usage: cpp_page.py PAGE HEADER-FOLDER C++-COMPILER...
"""
import subprocess
import sys
import tempfile
from pathlib import Path

import page

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
print("ok")
