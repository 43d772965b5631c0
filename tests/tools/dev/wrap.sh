# SPDX-License-Identifier: BSD-2-Clause
# ./dev test: a project of its own that builds the library from an archive of the source, by a wrap, and runs;
# and the library as it installs it.

try_wrap() {
    local folder=build-wrap
    rm -rf "$folder"
    wrap_prefix=$(mktemp -d)/prefix # a path without blanks, which no compiler's flags can have
    mkdir -p "$folder/project/subprojects"
    cp examples/wrap/* "$folder/project" &&
        run "$python" tests/tools/dist.py "$folder/project/subprojects" &&
        run meson setup "$folder/build" "$folder/project" --force-fallback-for=gpuvision \
            --prefix="$wrap_prefix" -Doptimization=0 -Dgpuvision:cuda=disabled &&
        run ninja -C "$folder/build" && run "$folder/build/dots" | tee "$folder/said" &&
        grep -q '^49 black pixels' "$folder/said"
}

# Outside of the tree, in a prefix of its own, with the elements.
try_installed() {
    run meson configure build-wrap/build -Dgpuvision:gst=enabled && run ninja -C build-wrap/build &&
        run "$python" tests/examples/installed.py --prefix meson build-wrap/build "$wrap_prefix" examples libgpuvision/bindings/python cc
}
try_wrap_and_installed() {
    local failed=
    try_wrap && try_installed || failed=1
    rm -r "${wrap_prefix%/prefix}"
    [[ ! $failed ]]
}
