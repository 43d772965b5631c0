#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# in_root.sh ROOT COMMAND...: runs a command in a root of Debian, where this project is /srv, and the
# headers of CUDA, if this machine has nvcc, are /mnt. What is mounted is seen by the command alone,
# and gone with it. For root; with sudo the command runs as the user who asks.
set -euo pipefail

if [[ $1 != --mount ]]; then
    exec unshare --mount "$0" --mount "$@"
fi
root=$(realpath -e "$2")
cd "$(dirname "$0")/../.."
mount --bind . "$root/srv"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
if nvcc=$(PATH+=:/usr/local/cuda/bin type -P nvcc); then
    mount --bind "$(dirname "$(realpath "$nvcc")")/../include" "$root/mnt"
fi
exec chroot --userspec="${SUDO_UID:-0}:${SUDO_GID:-0}" "$root" env -i -C /srv \
    HOME=/tmp LC_ALL=C.UTF-8 PATH=/usr/bin:/usr/sbin "${@:3}"
