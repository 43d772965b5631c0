# SPDX-License-Identifier: BSD-2-Clause
"""The Rust crate: its tests, what the documentation has of it, and its example beside the C++ one.

usage: rust.py CARGO|'' CRATE-FOLDER BUILD-FOLDER FIVE-OF-CPP PICTURE PAGE
"""
import os
import subprocess
import sys
from pathlib import Path

import five
import page

cargo, crate, build, other, picture, documentation = sys.argv[1:]
if not cargo:
    print("skipped: there is no cargo")
    sys.exit(77)
beside = Path(cargo).parent
environment = {**os.environ, "CARGO_HOME": f"{build}/home", "CARGO_NET_OFFLINE": "true",
               "RUSTDOCFLAGS": "-D warnings"}
for variable, program in ("RUSTC", "rustc"), ("RUSTDOC", "rustdoc"), ("RUSTFMT", "rustfmt"):
    if (beside / program).exists():
        environment[variable] = str(beside / program)


def run(*words):
    command = [cargo, *words]
    print("+", *command, flush=True)
    done = subprocess.run(command, cwd=crate, env=environment)
    if done.returncode:
        sys.exit(done.returncode)


run("--version")
where = ["--locked", "--target-dir", build]
if (beside / "rustfmt").exists() and (beside / "cargo-fmt").exists():
    run("fmt", "--check")
run("test", *where)
run("doc", "--no-deps", *where)
run("build", "--example", "five", *where)
program = Path(build, "page")
for line, text in page.blocks(documentation, "rust"):
    program.mkdir(exist_ok=True)
    Path(program, "Cargo.toml").write_text(
        '[package]\nname = "page"\nversion = "0.0.0"\nedition = "2021"\n'
        f'[dependencies]\ngpuvision = {{ path = "{crate}" }}\n[workspace]\n')
    Path(program, "src").mkdir(exist_ok=True)
    Path(program, "src/main.rs").write_text(text)
    run("build", "--manifest-path", str(program / "Cargo.toml"), "--target-dir", build)
    said = subprocess.run([f"{build}/debug/page"], check=True, capture_output=True, text=True)
    page.check_said(f"{documentation}:{line}", said.stdout)
five.check(f"{build}/debug/examples/five", other, picture)
