// SPDX-License-Identifier: BSD-2-Clause
//! Asks pkg-config where the library is.

use std::env;
use std::process::Command;

fn main() {
    println!("cargo:rerun-if-changed=build.rs");
    for name in ["PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR", "PKG_CONFIG_SYSROOT_DIR"] {
        println!("cargo:rerun-if-env-changed={name}");
    }

    let program = env::var("PKG_CONFIG").unwrap_or_else(|_| "pkg-config".to_owned());
    let output = match Command::new(&program).args(["--libs", "gpuvision"]).output() {
        Ok(output) => output,
        Err(error) => panic!(
            "{program} does not run: {error}. It says where libgpuvision is: install pkg-config, \
             or name another one in the variable PKG_CONFIG."
        ),
    };
    if !output.status.success() {
        panic!(
            "{program} does not know gpuvision:\n{}\
             Install libgpuvision, or let PKG_CONFIG_PATH name the folder of its gpuvision.pc: of \
             a build that is not installed, meson-uninstalled in the build folder.",
            String::from_utf8_lossy(&output.stderr)
        );
    }
    // A space inside of a path comes behind a backslash.
    let flags = String::from_utf8_lossy(&output.stdout).replace("\\ ", "\0");
    for flag in flags.split_whitespace().map(|flag| flag.replace('\0', " ")) {
        if let Some(folder) = flag.strip_prefix("-L") {
            println!("cargo:rustc-link-search=native={folder}");
        } else if let Some(library) = flag.strip_prefix("-l") {
            println!("cargo:rustc-link-lib={library}");
        } else {
            println!("cargo:rustc-link-arg={flag}");
        }
    }
}
