# SPDX-License-Identifier: BSD-2-Clause
"""Runs programs of Python's, one after the other, with --update: update.py PROGRAM WORDS... [-- PROGRAM WORDS...]"""
import subprocess
import sys
from itertools import groupby

for divides, words in groupby(sys.argv[1:], "--".__eq__):
    if not divides:
        subprocess.run([sys.executable, *words, "--update"], check=True)
