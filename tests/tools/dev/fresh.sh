# SPDX-License-Identifier: BSD-2-Clause
# ./dev fresh: what a new user does, from a bare machine on, with what is committed.
. tests/tools/dev/package_lists.sh
. tests/tools/dev/roots.sh
. tests/tools/dev/steps.sh

fresh_part() { # RELEASE PART
    step "$1: $2" in_own_root "build-fresh/$1" tests/tools/fresh_part.sh "$2"
}
fresh_release() { # RELEASE SUITE
    local part
    step "$1: a bare root" make_root "$2" "build-fresh/$1" "${fresh_root_packages[@]}" || return
    fresh_part "$1" clone || return
    for part in demo test install pkg-config program elements uninstall; do
        [[ $part == test && $quick ]] || fresh_part "$1" "$part" || true
    done
}
dev_fresh() {
    local release releases=() quick=
    for release; do
        case $release in
        --quick) quick=1 ;;
        *)
            check_release "fresh, beside --quick," "$release" "${!suites[@]}"
            releases+=("$release")
            ;;
        esac
    done
    ((${#releases[@]})) || releases=(debian12 debian13 ubuntu24.04 forky)
    become_root fresh
    need "${fresh_packages[@]}"
    steps=build-fresh/steps.json
    mkdir -p build-fresh
    : >"$steps"
    [[ ! $(git status --porcelain) ]] || say "dev: what is not committed is not tried"
    run git bundle create --quiet build-fresh/gpuvision.bundle HEAD
    for release in "${releases[@]}"; do
        fresh_release "$release" "${suites[$release]}" || true
    done
    results steps "$steps"
}
