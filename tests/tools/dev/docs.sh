# SPDX-License-Identifier: BSD-2-Clause
# ./dev docs: the documentation as a site, and the tables of its pages.
. tests/tools/dev/package_lists.sh

dev_docs() {
    need "${demo_packages[@]}" "${docs_packages[@]}"
    run "$python" tests/tools/results.py tables ||
        say "dev: the records are not in order; the documentation is built all the same"
    configure build
    run meson compile -C build gpuvision:shared_library
    # 77: it has said what is missing.
    run meson devenv -C build -w "$PWD" "$python" docs/parameters.py docs || (($? == 77))
    if ninja -C build -t query gst/libgstgpuvision.so >/dev/null 2>&1; then
        run ninja -C build gst/libgstgpuvision.so
        run meson devenv -C build -w "$PWD" "$python" docs/elements.py docs/elements || (($? == 77))
    else
        say "The elements are not built here: the tables of their pages are not remade."
    fi
    run meson compile -C build docs
    say "The documentation: build/docs/html/index.html"
}
