# SPDX-License-Identifier: BSD-2-Clause
# Roots of Debian and Ubuntu, for ./dev releases, package and fresh.

# The releases that are known, and their names in the archives.
declare -A suites=([debian12]=bookworm [debian13]=trixie [ubuntu24.04]=noble [forky]=forky)
check_release() { # WHO RELEASE KNOWN...
    [[ " ${*:3} " == *" $2 "* && $2 != *' '* && $2 ]] || die "$1 takes ${*:3}, but '$2' was given"
}

# To make and to enter one takes root, and mounts.
as_root=()
become_root() { # COMMAND [WHAT ELSE HELPS]
    if ((EUID != 0)); then
        command -v sudo >/dev/null ||
            die "$1 makes and enters a root of Debian: it needs to be root, or sudo"
        as_root=(sudo env "PATH=$PATH:/usr/sbin")
    fi
    "${as_root[@]}" unshare --mount true ||
        die "$1 has to mount, which not even root may here (a container without CAP_SYS_ADMIN?)${2-}"
}
# Makes a root anew, with little more than packages, as a container's image has.
make_root() { # SUITE FOLDER PACKAGE...
    local packages=${*:3} debian=http://deb.debian.org ubuntu=http://archive.ubuntu.com/ubuntu
    local keyring=/usr/share/keyrings/debian-archive-keyring.gpg
    local sources=("deb $debian/debian $1 main" "deb $debian/debian $1-updates main"
        "deb $debian/debian-security $1-security main")
    if [[ $1 == noble ]]; then
        ubuntu_keyring || return
        sources=("deb $ubuntu noble main universe" "deb $ubuntu noble-updates main universe")
    fi
    run "${as_root[@]}" rm -rf --one-file-system "$2" && mkdir -p "${2%/*}" || return
    # For tests a mirror will do that is some weeks behind.
    run "${as_root[@]}" mmdebstrap --mode=root --variant=minbase --keyring="$keyring" \
        --aptopt='Acquire::Check-Valid-Until "false"' \
        --include="apt,${packages// /,}" "$1" "$2" "${sources[@]}" ||
        { say "dev: $2 could not be made (no network?)"; return 1; }
}
# Ubuntu's keys, for make_root. Debian 12 has no package of them: Debian 13's is taken, which is signed
# with the keys that Debian 12 has.
ubuntu_keyring() {
    local folder=build-ubuntu-keyring
    keyring=/usr/share/keyrings/ubuntu-archive-keyring.gpg
    [[ ! -f $keyring ]] || return 0
    if [[ ! -f $folder$keyring ]]; then
        run "${as_root[@]}" rm -rf "$folder"
        run "${as_root[@]}" mmdebstrap --mode=root --variant=extract --include=ubuntu-keyring \
            --keyring=/usr/share/keyrings/debian-archive-keyring.gpg trixie "$folder" \
            "deb http://deb.debian.org/debian trixie main" ||
            { say "dev: no keys of Ubuntu: $keyring is not here, and Debian 13's package" \
                "ubuntu-keyring, which has it, could not be had (no network?)"; return 1; }
    fi
    keyring=$folder$keyring
}
in_own_root() { # ROOT COMMAND...: as root, where in_root.sh would become the user who asks
    run "${as_root[@]}" env -u SUDO_UID -u SUDO_GID tests/tools/in_root.sh "$1" \
        env DEBIAN_FRONTEND=noninteractive ${http_proxy:+"http_proxy=$http_proxy"} "${@:2}"
}
# In build-releases: one with what the elements and their tests are built with, if it is not there or that has changed.
release_root() { # RELEASE
    local folder=build-releases/$1 wanted="${release_packages[*]}"
    [[ $(cat "$folder/packages" 2>/dev/null) != "$wanted" ]] || return 0
    need "${root_packages[@]}"
    run "${as_root[@]}" rm -rf --one-file-system "$folder"
    make_root "${suites[$1]}" "$folder/root" "$wanted" && printf '%s\n' "$wanted" >"$folder/packages"
}
