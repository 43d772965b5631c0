# SPDX-License-Identifier: BSD-2-Clause
# ./dev bench: the algorithms on the CPU.
. tests/tools/dev/package_lists.sh

stems_with_benchmarks() { (cd tests/parity && ls -- *.cpp) | sed '/_accuracy/d; s/\.cpp$//'; }

dev_bench() {
    local record= stem figures=()
    (($# <= 1)) || die "bench takes one word, but was given: $*"
    case ${1-} in
    '') ;;
    --record) record=1 ;;
    *) die "bench $1: only --record is known" ;;
    esac
    need "${demo_packages[@]}" "${test_packages[@]}"
    configure build-release -Dcuda=disabled -Dbuildtype=release
    run ninja -C build-release
    # How long contents take that are hard on a search, beside others.
    run meson test -C build-release --no-rebuild --print-errorlogs --suite time
    mkdir -p build-release/bench
    for stem in $(stems_with_benchmarks); do
        run "build-release/tests/parity/parity-$stem" --bench --json "build-release/bench/$stem.json"
        figures+=("$stem=build-release/bench/$stem.json")
    done
    [[ ! $record ]] || results record cpu "${figures[@]}"
}
