# SPDX-License-Identifier: BSD-2-Clause
"""What the objects in a build folder are made of, and which symbols they have and ask for."""
import os
import re
import shutil
import subprocess
from pathlib import Path


def missing_program():
    """Without which the functions below fail."""
    return next((name for name in ("nm", "ninja") if not shutil.which(name)), None)


def read_by_compilers(build):
    """(object, paths that its compiler has read, the source first), of what is built."""
    listed = subprocess.run(["ninja", "-C", build, "-t", "deps"], check=True, text=True, capture_output=True)
    for part in listed.stdout.split("\n\n"):
        built, *lines = part.strip("\n").split("\n")
        built = build / re.sub(r": #deps .*", "", built)
        if built.exists():
            yield built, [Path(os.path.normpath(build / line.strip())) for line in lines]


def parse_symbols(listed):
    """{object: {symbol: kind}}, from what nm -A -P writes. Kind is nm's letter: U where it is asked for."""
    found = {}
    for line in listed.splitlines():
        path, _, rest = line.partition(": ")
        name, kind, *_ = *rest.split(" "), "", ""
        found.setdefault(Path(path), {})[name] = kind
    return found


def symbols(objects):
    return parse_symbols(subprocess.run(["nm", "-A", "-P", *objects], check=True, text=True,
                                        capture_output=True).stdout) if objects else {}
