# SPDX-License-Identifier: BSD-2-Clause
"""The Go package: its tests, and its example beside the C++ one.

usage: go.py GO|'' PACKAGE-FOLDER BUILD-FOLDER FIVE-OF-CPP PICTURE
"""
import os
import subprocess
import sys
from pathlib import Path

import five

go, package, build, other, picture = sys.argv[1:]
if not go:
    print("skipped: there is no go")
    sys.exit(77)
environment = {**os.environ, "GOCACHE": f"{build}/cache", "GOPATH": f"{build}/path",
               "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "", "CGO_ENABLED": "1"}


def run(*command):
    print("+", *command, flush=True)
    done = subprocess.run(command, cwd=package, env=environment, text=True, stdout=subprocess.PIPE)
    print(done.stdout, end="", flush=True)
    if done.returncode:
        sys.exit(done.returncode)
    return done.stdout


run(go, "version")
gofmt = Path(go).resolve().with_name("gofmt")
if gofmt.exists() and run(str(gofmt), "-l", "."):
    sys.exit("these are not as gofmt has them")
run(go, "vet", "./...")
run(go, "test", "./...")
run(go, "build", "-o", f"{build}/five", "./cmd/five")
five.check(f"{build}/five", other, picture)
