# SPDX-License-Identifier: BSD-2-Clause
# ./dev gpu: tests and benchmarks on a host with a GPU. It installs nothing and needs no network; the full output
# goes to build-gpu/*.log.
. tests/tools/dev/bench.sh
. tests/tools/dev/turns.sh

logged() { # NAME COMMAND...
    local log=build-gpu/$1.log
    mkdir -p build-gpu
    say "+ ${*:2} >$log"
    "${@:2}" >"$log" 2>&1 || { tail -n 40 "$log"; return 1; }
}
gpu_configure() {
    local options=(-Dcuda=enabled -Dbuildtype=release) folder
    forget_other_gstreamer build-gpu
    # A GStreamer outside the system's folders is found at run time by its path.
    if folder=$(pkg-config --variable=libdir gstreamer-1.0) && ! grep -qF "$folder/" <<<"$(ldconfig -p)"; then
        options+=("-Dc_link_args=-Wl,-rpath,$folder" "-Dcpp_link_args=-Wl,-rpath,$folder")
    fi
    logged configure configure build-gpu "${options[@]}"
    sed -n '/^gpuvision /,/User defined/p' build-gpu/configure.log
}
gpu_build() {
    logged build ninja -C build-gpu
    run build-gpu/examples/erode 3 tests/gst/coffee.ppm build-gpu/eroded.ppm # says what computes here
}
# Tests that decode a clip take GPV_TEST_CLIP: --clip FILE, or one made here.
make_clip() { # FILE
    gst-launch-1.0 -q videotestsrc num-buffers=300 pattern=zone-plate kx2=20 ky2=20 kt=1 ! \
        video/x-raw,format=I420,width=1920,height=1080,framerate=30/1 ! \
        openh264enc bitrate=8000000 ! h264parse ! matroskamux ! filesink location="$1.part" &&
        mv "$1.part" "$1"
}
gpu_clip() {
    local made=$PWD/build-gpu/clip.mkv
    [[ ! ${GPV_TEST_CLIP-} ]] || return 0
    if [[ -f $made ]] || logged clip make_clip "$made"; then
        export GPV_TEST_CLIP=$made
    else
        say "dev: no clip could be made: what decodes one is left out"
    fi
}
inside=(meson devenv -C build-gpu -w "$PWD")
gpu_measure() { # SECTION FILE
    local rate=("${inside[@]}" "$PWD/build-gpu/tests/gst/rate" --json "$2")
    case $1 in
    rate) run "${rate[@]}" ${GPV_TEST_CLIP:+--clip "$GPV_TEST_CLIP"} ;;
    rate-devices) run "${rate[@]}" --devices "$gpus" ;;
    # Rows that cannot be run say so.
    latency) run "${inside[@]}" "$PWD/build-gpu/tests/gst/latency" --cuda --json "$2" || (($? == 77)) ;;
    throughput)
        run "${inside[@]}" "$PWD/build-gpu/examples/sift-throughput" --json "$2" "$pictures" ||
            { rm -f "$2"; return 1; }
        ;;
    # Not Debian's own Python: the one that may have CuPy.
    *-peers) run "${inside[@]}" python3 tests/tools/peers.py "${1%-peers}" --json "$2" ;;
    *) run "build-gpu/tests/parity/parity-$1" --bench-gpu --json "$2" ;;
    esac
}
# Each benchmark is recorded as soon as it is measured. Those that today's sources have no record of come first.
gpu_bench() {
    local section file gpus begin failed=0 sections=({erode,ccl,kmeans,match,sift}-peers)
    mkdir -p build-gpu/bench
    gpu_clip
    [[ ! $pictures || ! -x build-gpu/examples/sift-throughput ]] || sections=(throughput "${sections[@]}")
    gpus=$(nvidia-smi -L | grep -c ^GPU)
    if [[ -x build-gpu/tests/gst/rate ]]; then
        ((gpus < 2)) || sections=(rate-devices "${sections[@]}")
        sections=(rate latency "${sections[@]}")
    fi
    sections=($(results order "$gpu" $(stems_with_benchmarks) "${sections[@]}")) || return
    for section in "${sections[@]}"; do
        file=$PWD/build-gpu/bench/$section.json begin=$SECONDS
        rm -f "$file"
        # A benchmark that has failed in one row has others.
        logged "bench-$section" gpu_measure "$section" "$file" || failed=1
        grep -v '^+' "build-gpu/bench-$section.log" || true
        say "dev: $section was measured in $((SECONDS - begin)) s"
        if [[ -f $file ]]; then
            results record "$gpu" "$section=$file" || failed=1
        else
            say "dev: $section was not measured: its section is not renewed"
        fi
    done
    return $failed
}
# Runs the tests of all stages, as one queue, in what is left of the time.
gpu_tests() { # STAGE...
    gpu_clip
    scan_plugins build-gpu
    run "$python" tests/tools/gpu_tests.py build-gpu "$gpu" "$((seconds - SECONDS))" "$@" -- "${names[@]}" ||
        { (($? != 2)) || exit 2; return 1; }
}
dev_gpu() {
    local word stages=() tests=() names=() failed= pictures= seconds=540 bench=
    local -x GPV_TEST_TURN=${GPV_TEST_TURN-}
    while (($#)); do
        case $1 in
        build | test | sanitize | bench | soak) stages+=("$1") ;;
        --clip)
            GPV_TEST_CLIP=$(cd "$caller" && realpath -e "${2-}") || die "--clip needs a file"
            export GPV_TEST_CLIP
            shift
            ;;
        --pictures)
            pictures=$(cd "$caller" && realpath -e "${2-}") && [[ -d $pictures ]] ||
                die "--pictures needs a folder"
            shift
            ;;
        --seconds)
            [[ ${2-} =~ ^[1-9][0-9]{0,5}$ ]] || die "--seconds needs a whole number from 1 to 999999"
            seconds=$2
            shift
            ;;
        -*) die "gpu takes --seconds N, --clip FILE and --pictures FOLDER, but '$1' was given" ;;
        *) names+=("$1") ;;
        esac
        shift
    done
    ((${#stages[@]})) || stages=(test sanitize)
    for word in "${stages[@]}"; do
        [[ $word != @(test|sanitize|soak) ]] || tests+=("$word")
        [[ $word != bench ]] || bench=1
    done
    [[ ! $pictures || $bench ]] || die "--pictures is for bench"
    ((!${#names[@]} || ${#tests[@]})) || die "gpu ${stages[*]} has no tests, but '${names[*]}' was given"
    { command -v nvidia-smi && nvidia-smi -L; } || die "no NVIDIA driver or GPU here"
    command -v nvcc >/dev/null || die "nvcc is neither on PATH nor in /usr/local/cuda/bin"
    find_turn
    gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader | sed -n 's/ /-/g; 1p')
    gpu=${gpu,,}
    gpu_configure
    # The tests build what they need.
    ((!${#tests[@]})) || gpu_tests "${tests[@]}" || failed+=" ${tests[*]}"
    [[ ${stages[*]} != *build* && ! $bench ]] || gpu_build
    [[ ! $bench ]] || gpu_bench || failed+=" bench"
    results check || failed+=" check"
    [[ ! $failed ]] || die "failed, or not done:$failed"
}
