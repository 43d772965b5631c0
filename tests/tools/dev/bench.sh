# SPDX-License-Identifier: BSD-2-Clause
# ./dev bench: the algorithms on the CPU, and how long live video is under way in the elements.
. tests/tools/dev/package_lists.sh

stems_with_benchmarks() { (cd tests/parity && ls -- *.cpp) | sed '/_accuracy/d; s/\.cpp$//'; }

# Live video: so many seconds of each row, of all or of those that have a text.
bench_latency() {
    local file=build-release/bench/latency.json
    run meson devenv -C build-release -w "$PWD" "$PWD/build-release/tests/gst/latency" --seconds "$seconds" \
        --only "$only" --json "$PWD/$file"
    [[ ! $record ]] || results record cpu "latency=$file"
}

dev_bench() {
    local record= latency= only= seconds=300 stem figures=()
    while (($#)); do
        case $1 in
        --record) record=1 ;;
        latency) latency=1 ;;
        --only) only=${2-} && shift ;;
        --seconds)
            [[ ${2-} =~ ^[1-9][0-9]{0,3}$ ]] || die "--seconds needs a whole number from 1 to 9999"
            seconds=$2
            shift
            ;;
        *) die "bench takes latency, --record, --only TEXT and --seconds N, but '$1' was given" ;;
        esac
        shift
    done
    [[ $latency || $only$seconds == 300 ]] || die "--only and --seconds are for latency"
    need "${demo_packages[@]}" "${test_packages[@]}"
    configure build-release -Dcuda=disabled -Dbuildtype=release
    run ninja -C build-release
    mkdir -p build-release/bench
    if [[ $latency ]]; then
        bench_latency
        return
    fi
    # How long contents take that are hard on a search, beside others.
    run meson test -C build-release --no-rebuild --print-errorlogs --suite time
    for stem in $(stems_with_benchmarks); do
        run "build-release/tests/parity/parity-$stem" --bench --json "build-release/bench/$stem.json"
        figures+=("$stem=build-release/bench/$stem.json")
    done
    [[ ! $record ]] || results record cpu "${figures[@]}"
}
