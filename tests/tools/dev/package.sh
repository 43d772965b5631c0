# SPDX-License-Identifier: BSD-2-Clause
# ./dev package: Debian packages. build-package holds the source, what is built of it, and where it is tried.
. tests/tools/dev/package_lists.sh
. tests/tools/dev/roots.sh
. tests/tools/dev/steps.sh

package_root=build-package/root
in_package_root() { in_own_root "$package_root" "$@"; }
# dpkg writes beside the folder that it builds in.
build_packages() { # [OPTION OF dpkg-buildpackage...]
    local source=build-package/gpuvision-$(dpkg-parsechangelog -S Version) log=build-package/build.log
    local -x DEB_BUILD_OPTIONS=noautodbgsym # and not what the caller may have set
    local -x CCACHE_DIR=${CCACHE_DIR-} # debhelper has another HOME
    [[ $CCACHE_DIR ]] || ! command -v ccache >/dev/null || CCACHE_DIR=$(ccache -k cache_dir)
    [[ $CCACHE_DIR ]] || unset CCACHE_DIR
    rm -rf build-package/*_* build-package/gpuvision-* build-package/dist
    run "$python" tests/tools/dist.py build-package/dist &&
        tar -xf "build-package/dist/${source##*/}.tar.xz" -C build-package || return
    say "+ cd $source && dpkg-buildpackage -us -uc $* >../build.log"
    (cd "$source" && dpkg-buildpackage -us -uc "$@") >"$log" 2>&1 || { tail -n 40 "$log"; return 1; }
    sed -n '/^  Library$/,/^ *Analytics/p' "$log"
}
check_packages() { run lintian --profile debian --fail-on error,warning build-package/*.changes; }
# Nothing else is installed there, which shows whether each package names all that it needs.
make_package_root() {
    local release
    release=$(. /etc/os-release && echo "$VERSION_CODENAME") &&
        make_root "$release" "$package_root" "${package_root_packages[@]}"
}
files_in_package_root() { find "$package_root/usr" -printf '%P\n' | sort; }
# What the packages depend on is installed before and stays, as it need not clean up behind itself.
try_installed_packages() {
    local packages=(build-package/*.deb) package names needed before
    names=("${packages[@]##*/}")
    needed=$(for package in "${packages[@]}"; do dpkg-deb -f "$package" Depends; done |
        sed 's/, */\n/g' | grep -ve gpuvision -e '^$' | sort -u | paste -sd,)
    in_package_root apt-get update || return
    in_package_root apt-get satisfy -y --no-install-recommends "$needed" || return
    before=$(files_in_package_root)
    in_package_root apt-get install -y --no-install-recommends "${packages[@]/#/./}" || return
    in_package_root tests/tools/package_smoke.sh || return
    in_package_root apt-get purge -y "${names[@]%%_*}" || return
    diff <(echo "$before") <(files_in_package_root) ||
        { say "dev: the packages left the files above behind"; return 1; }
}
# Needs neither root nor a network, once its packages are there.
try_unpacked_packages() {
    local package
    rm -rf build-package/unpacked
    for package in build-package/*.deb; do
        dpkg-deb -x "$package" build-package/unpacked || return
    done
    run tests/tools/package_smoke.sh build-package/unpacked
}
quick_package() {
    build_packages -Ppkg.gpuvision.nocuda && check_packages && try_unpacked_packages
}
dev_package() {
    local needed=("${package_packages[@]}")
    (($# <= 1)) || die "package takes one word, but was given: $*"
    case ${1-} in
    '') become_root package "; package --quick need not"; needed+=("${root_packages[@]}") ;;
    --quick) ;;
    *) die "package $1: only --quick is known" ;;
    esac
    need "${needed[@]}"
    command -v dpkg-buildpackage >/dev/null || die "package needs dpkg-buildpackage: Debian, or Ubuntu"
    steps=build-package/steps.json
    mkdir -p build-package
    : >"$steps"
    if [[ ${1-} ]]; then
        step package quick_package || true
    elif step 'build packages' build_packages; then
        step 'check packages' check_packages || true
        step 'make a root for packages' make_package_root &&
            step 'try packages' try_installed_packages || true
    fi
    results summary "$steps"
    say "build-package: $(cd build-package && du -h --apparent-size *.deb | awk '{print $2, $1}' ORS=', ' | sed 's/, $//')"
}
