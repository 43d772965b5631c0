# SPDX-License-Identifier: BSD-2-Clause
"""The Go package: its tests, what the documentation has of it, and its example beside the C++ one.

usage: go.py GO|'' PACKAGE-FOLDER BUILD-FOLDER FIVE-OF-CPP PICTURE PAGE
"""
import os
import subprocess
import sys
from pathlib import Path

import five
import page

go, package, build, other, picture, documentation = sys.argv[1:]
if not go:
    print("skipped: there is no go")
    sys.exit(77)
environment = {**os.environ, "GOCACHE": f"{build}/cache", "GOPATH": f"{build}/path",
               "GOPROXY": "off", "GOTOOLCHAIN": "local", "GOFLAGS": "", "CGO_ENABLED": "1"}


def run(*command, folder=package):
    print("+", *command, flush=True)
    done = subprocess.run(command, cwd=folder, env=environment, text=True, stdout=subprocess.PIPE)
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
program = Path(build, "page")
for line, text in page.blocks(documentation, "go"):
    program.mkdir(exist_ok=True)
    Path(program, "main.go").write_text(text)
    Path(program, "go.mod").write_text("module page\ngo 1.19\nrequire gpuvision v0.0.0\n"
                                       f"replace gpuvision => {package}\n")
    page.check_said(f"{documentation}:{line}", run(go, "run", ".", folder=program))
five.check(f"{build}/five", other, picture)
