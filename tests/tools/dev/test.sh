# SPDX-License-Identifier: BSD-2-Clause
# ./dev test: all that can go wrong without a GPU, in up to five builds.
. tests/tools/dev/package_lists.sh
. tests/tools/dev/steps.sh
. tests/tools/dev/turns.sh
. tests/tools/dev/chosen_tests.sh
. tests/tools/dev/wrap.sh
. tests/tools/dev/package.sh
. tests/tools/dev/releases.sh

ray_version=2.60.0

# Ray, the engine of examples/archive, beside Debian's own Python and its modules.
make_ray() {
    local folder=build/ray
    compgen -G "$folder/lib/python3*/site-packages/ray-$ray_version.dist-info" >/dev/null && return
    run "$python" -m venv --system-site-packages "$folder" &&
        run "$folder/bin/pip" install --quiet --retries 1 "ray==$ray_version"
}

# A folder may have been configured without tests, as README.md says.
add_tests() { # FOLDER
    ! grep -qs '"name": "tests", "value": false' "$1/meson-info/intro-buildoptions.json" ||
        run meson configure "$1" -Dtests=true
}

# Without --full: chooses what has its turn, and what need not be built for it.
choose_share() {
    local level
    # Sanitizers see the seeds, and another third of the share.
    unsanitized=(--no-suite seeds)
    changed_of_late gst include libgpuvision/{core,cuda} tests/{gst,parity,simt} ||
        unsanitized+=(--share "share:$((GPV_TEST_TURN + 1))/3")
    cases=(--no-suite full --share "turns:$((GPV_TEST_TURN / 3))/3")
    has_turn 1 libgpuvision/bindings/{rust,go} tests/bindings include || cases+=(--no-suite rust-go)
    changed_of_late examples libgpuvision/bindings gst include tests/examples || cases+=(--share "examples:$GPV_TEST_TURN/3")
    # Where CI is set, no GPU will run it, so PTX will do, in which nothing is optimized; and nobody debugs it.
    # ccache does not see NVCC_APPEND_FLAGS.
    if [[ ${CI-} ]]; then
        cheaper=("-Dcuda-arch=$((GPV_TEST_TURN % 2 ? 75 : 90))-virtual" -Ddebug=false)
        has_turn 0 gst include libgpuvision/{core,cuda,meson.build} tests/{gst,simt} &&
            cheaper+=(-Dcuda=auto) || cheaper+=(-Dcuda=disabled)
        export NVCC_APPEND_FLAGS='-Xcicc -O0' CCACHE_NAMESPACE=gpuvision-ci
    fi
    # With sanitizers fewer instruction sets: where CI is set, only the one that all is compiled for, with
    # fused operations, without which gpusift on the CPU rounds otherwise than CUDA.
    simd='-DHWY_DISABLED_TARGETS=(HWY_SSSE3|HWY_SSE4)'
    if [[ ${CI-} ]]; then
        for level in x86-64-v$((3 + GPV_TEST_TURN % 2)) x86-64-v3; do
            grep -q "$level (supported" <<<"$(/lib64/ld-linux-x86-64.so.2 --help 2>&1)" || continue
            simd="-DHWY_COMPILE_ONLY_STATIC -march=$level -maes -mpclmul"
            break
        done
    fi
}

test_as_a_user_builds() {
    # For Meson, whatever a test runs is built by default.
    if step configure configure build "${cheaper[@]}" && add_tests build &&
        step build build_for_tests build --default "${unsanitized[@]}" "${cases[@]}"; then
        [[ ! $full ]] || make_ray || say "dev: Ray cannot be had now: what needs it is skipped"
        run_tests build
    fi
}

# One error or one leak is a failed test here. All takes many times as long there, so that in the short
# form less is built and run, and for fewer instruction sets.
test_with_sanitizers() {
    local asan=build-asan-full third
    cases+=(--no-suite headers --no-suite abi --no-suite repo --no-suite docs --no-suite cuda --no-suite cuda-brief)
    # Where the fuzzers run, they begin with the seeds.
    has_turn 2 tests/fuzz && fuzzes=true && cases+=(--no-suite seeds)
    if [[ $full ]]; then
        # As many cases as with meson test: the figures of --full are the plain build's.
        test_in=(env -u GPV_TEST_FULL)
    else
        asan=build-asan
        # A third of them, each with all that is chosen above and below by the turn's remainder of 6.
        third=$((GPV_TEST_TURN / 6))/3
        cases+=(--share "share:$GPV_TEST_TURN/3" --share "parity:$third" --share "gst:$third" --share "simt:$third")
        export GPV_TEST_SHORT=1
    fi
    if CC=clang CXX=clang++ step 'configure with sanitizers' configure $asan \
        -Db_sanitize=address,undefined "${sanitizing[@]}" &&
        step 'build with sanitizers' build_for_tests $asan "${cases[@]}"; then
        step 'what has sanitizers' run "$python" tests/tools/sanitized.py build $asan "${cases[@]}" || true
        # Outside the instrumented programs.
        scan_plugins $asan
        run_tests $asan
    fi
}

# One data race is a failed test here.
test_with_thread_sanitizer() {
    if ! has_turn 0 libgpuvision/{api,core} 'libgpuvision/cpu/threads.*' 'tests/api/threads.cpp' 'tests/common/*' 'tests/unit/races.*'; then
        say "dev: ThreadSanitizer has its turn with another commit"
    elif CC=clang CXX=clang++ step 'configure with ThreadSanitizer' configure build-tsan \
        -Dgst=disabled -Dexamples=disabled -Ddocs=disabled -Db_sanitize=thread "${sanitizing[@]}" &&
        step 'build with ThreadSanitizer' build_for_tests build-tsan --suite threads; then
        # ThreadSanitizer does not know every place that a kernel puts a program at.
        ! setarch -R true 2>/dev/null || test_in+=(setarch -R)
        run_tests build-tsan
    fi
    test_in=()
    unset GPV_TEST_SHORT
}

# With -O2 they take twice as long to compile, for at most an eighth more runs. The other tests do without
# what fuzzers need of a build: with it gpusift_reference alone took five minutes.
test_by_fuzzers() {
    if ! $fuzzes; then
        say "dev: the fuzzers have their turn with another commit; their seeds were run"
    elif CC=clang CXX=clang++ step 'configure the fuzzers' configure build-fuzz -Dfuzzer=true \
        -Ddocs=disabled -Dexamples=disabled -Db_sanitize=address,undefined "${sanitizing[@]}" &&
        step 'build the fuzzers' build_for_tests build-fuzz --suite fuzz; then
        run_tests build-fuzz
    fi
}

# With --full on the releases of ./dev releases. Else the GStreamer of one of them, by turns, is collected in a
# folder, with which this machine's compiler builds the elements and their own tests.
collect_gstreamer() { # SUITE: again after a day
    [[ -n $(find "build-gstreamer/$1/env.sh" -mtime -1 2>/dev/null) ]] ||
        run tests/tools/gst_bundle.sh --suite "$1" --libc "build-gstreamer/$1"
}
in_gstreamer() { # SUITE COMMAND...
    (. "build-gstreamer/$1/env.sh" && "${@:2}")
}
build_with_gstreamer() { # SUITE PROGRAM...
    local build=build-gstreamer/build-$1
    forget_other_gstreamer "$build"
    configure "$build" -Dcuda=disabled -Dexamples=disabled -Ddocs=disabled -Ddebug=false -Doptimization=1 &&
        run ninja -C "$build" gst/libgstgpuvision.so "${@:2}"
}
test_other_gstreamers() {
    local bundled=(noble trixie forky) tests=(analytics gpu{ccl,erode,kmeans} streams)
    local release suite build collected=0
    if [[ $full ]]; then
        (become_root 'test --full') || { say "dev: the other releases are not tested"; return; }
        become_root 'test --full'
        for release in "${releases[@]}"; do
            test_in_release "$release" || true
        done
    elif ! changed_of_late gst; then
        say "dev: nothing in gst has changed: no other GStreamer is tried"
    else
        suite=${bundled[GPV_TEST_TURN % 3]} build=build-gstreamer/build-$suite
        collect_gstreamer "$suite" || collected=$?
        if ((collected == 77)); then
            say "dev: no other GStreamer is tried"
        elif step "the GStreamer of $suite" test $collected == 0 && step "build with it" in_gstreamer "$suite" \
            build_with_gstreamer "$suite" "${tests[@]/#/tests/gst/gst-}" tests/gst/unit-meta; then
            logs+=("$build/meson-logs/testlog.json")
            rm -f "${logs[-1]}"
            in_gstreamer "$suite" env GPV_TEST_SHORT=1 meson test -C "$build" --no-rebuild --print-errorlogs meta \
                "${tests[@]}" || ended_badly "$build" "${logs[-1]}"
        fi
    fi
}

test_wrap_and_packages() {
    local building=('*meson.build' ':!tests/*meson.build' meson_options.txt tests/tools/dist.py)
    if has_turn 0 "${building[@]}" examples/wrap tests/examples/installed.py; then
        step 'the library by a wrap, installed, used and uninstalled' try_wrap_and_installed || true
    else
        say "dev: the wrap, and what it installs, have their turn with another commit"
    fi
    if ! has_turn 1 "${building[@]}" debian tests/tools/package_smoke.sh examples/c/{erode.c,ccl.c,common.h}; then
        say "dev: the Debian packages have their turn with another commit"
    elif command -v dpkg-buildpackage >/dev/null; then
        step 'Debian packages' quick_package || true
    else
        say "dev: there is no dpkg-buildpackage: the Debian packages are not built"
    fi
}

dev_test() {
    # Options of meson setup, and those of needed.py for the plain build alone and for all builds.
    local cheaper=() unsanitized=() cases=()
    local simd= lines=-gline-tables-only fuzzes=false
    (($# <= 1)) || die "test takes one word, but was given: $*"
    case ${1-} in
    '') find_turn ;;
    --full)
        full=1
        unset CC CXX "${!GPV_@}" "${!CK_@}" "${!GST_CHECKS@}" "${!ASAN_@}" GPUVISION_LIBRARY
        export GPV_TEST_FULL=1
        ;;
    *) die "test $1: only --full is known" ;;
    esac
    unset GPV_TEST_SHORT
    need "${demo_packages[@]}" "${test_packages[@]}" "${package_packages[@]}"
    # What CI has set, Meson would keep.
    ! grep -qs '"value": "[0-9]*-virtual"' build/meson-info/intro-buildoptions.json || cheaper=(-Dcuda=auto -Dcuda-arch=native -Ddebug=true)
    # What one clone has compiled serves another.
    local -x CCACHE_BASEDIR=$PWD CCACHE_NOHASHDIR=1
    if [[ $full ]]; then
        test_options=(--timeout-multiplier 4)
        local -x CK_TIMEOUT_MULTIPLIER=4 # for Check's own limits
    else
        choose_share
    fi
    local sanitizing=(-Dcuda=disabled -Db_lundef=false -Doptimization=1 "-Dc_args=$lines"
        "-Dcpp_args=$lines $simd")
    mkdir -p "$(dirname "$steps")"
    : >"$steps"

    step lint run "$python" tests/tools/lint.py || true
    test_as_a_user_builds
    step results run "$python" tests/tools/results.py check || true

    local -x UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1 CK_TIMEOUT_MULTIPLIER=4
    test_cxx=clang++
    test_options=(--timeout-multiplier 4)
    test_with_sanitizers
    test_with_thread_sanitizer
    local -x GPV_FUZZ_SECONDS=${GPV_FUZZ_SECONDS-$([[ $full ]] && echo 300 || echo 10)}
    test_by_fuzzers
    test_wrap_and_packages
    test_other_gstreamers

    results summary "${logs[@]}"
}
