# SPDX-License-Identifier: BSD-2-Clause
# ./dev demo: the elements on a video.
. tests/tools/dev/package_lists.sh

clip_package=python3-mecavideo
clip=usr/share/pymecavideo/data/video/balle-jbart.mp4
# The ball rolls within this box; what lies round it shows the element the background.
clip_cut="gpugraphcut seed-source=rect rect=100,310,560,90 lambda=0.005"
clip_credit="balle-jbart.mp4 by Benoît Markey, from pymecavideo (package $clip_package), CC-BY-SA 3.0"
# A clip of a moving camera, for gpusift.
sift_package=python3-imageio
sift_clip=usr/lib/python3/dist-packages/imageio/resources/images/realshort.mp4
sift_credit="realshort.mp4, from imageio (package $sift_package), BSD-2-Clause"
# The picture that gpusift looks for. It is here without a network, too.
find_picture=tests/gst/coffee.ppm

download_clip() { # PACKAGE
    local get=(apt-get -o APT::Sandbox::User=root -o Acquire::Retries=0 -o Acquire::http::Timeout=10)
    run "${get[@]}" download "$1" ||
        { ((EUID == 0)) && run "${get[@]}" update && run "${get[@]}" download "$1"; }
}
fetch_clip() { # PACKAGE FILE: FILE of what the package holds, in build/demo-clip/PACKAGE
    local folder=build/demo-clip/$1
    if [[ ! -d $folder ]]; then
        command -v apt-get >/dev/null || return 1
        rm -rf "$folder.part"
        mkdir -p "$folder.part"
        (cd "$folder.part" && download_clip "$1" && run dpkg-deb -x "$1"_*.deb . && rm "$1"_*.deb) &&
            mv "$folder.part" "$folder" ||
            { say "dev: the package $1 cannot be had now: another clip is shown instead"; return 1; }
    fi
    [[ -f $folder/$2 ]] && return
    say "dev: the package $1 of this release has no ${2##*/}: another clip is shown instead"
    return 1
}

# Says what is wrong with the words before anything is installed or built, as far as that can be known.
check_demo() { # WORD...
    local input=
    while (($#)); do
        [[ $1 != --*=* ]] || set -- "${1%%=*}" "${1#*=}" "${@:2}"
        case $1 in
        -e | --effect | -n | --frames | -s | --stall | -o | --out | --credit | --cut | --find | --sift-clip | --sift-credit)
            (($# > 1)) || die "$1 needs a value; see ./dev demo --help"
            ;;&
        -h | --help) help demo; exit ;;
        -e | --effect)
            [[ $2 =~ gpu(erode|ccl|kmeans|sift|graphcut) ]] ||
                die "$1 '$2' has none of gpuerode, gpuccl, gpukmeans, gpusift and gpugraphcut"
            shift
            ;;
        -n | --frames)
            [[ $2 =~ ^[0-9]{1,9}$ ]] || die "$1 must be a whole number, but is '$2'"
            shift
            ;;
        -s | --stall)
            [[ $2 =~ ^0*[1-9][0-9]{0,8}$ ]] || die "$1 must be seconds, 1 or more, but is '$2'"
            shift
            ;;
        -o | --out | --credit | --cut | --find | --sift-clip | --sift-credit) shift ;;
        -w | --window)
            [[ ${DISPLAY-}${WAYLAND_DISPLAY-} ]] ||
                die "--window: there is no display, for neither DISPLAY nor WAYLAND_DISPLAY is set"
            ;;
        -*) die "there is no option '$1'; see ./dev demo --help" ;;
        *)
            [[ ! $input ]] || die "one file, URI or device at a time, but '$input' and '$1' were given"
            input=$1
            ;;
        esac
        shift
    done
    demo_input=$input
    [[ $input && $input != camera && $input != *://* ]] || return 0
    [[ $input == /* ]] || input=$caller/$input
    [[ -e $input ]] || die "there is no file $demo_input"
    [[ ! -d $input ]] || die "$demo_input is a folder"
}

dev_demo() {
    local clip_arguments=() demo_input picture
    check_demo "$@"
    need "${demo_packages[@]}"
    gst-inspect-1.0 --exists openh264dec || need "${h264_packages[@]}"
    configure build
    ninja -C build -t query examples/demo/gpuvision-demo >/dev/null 2>&1 ||
        die "not all of GStreamer was found that the demo needs: see the summary of meson setup build"
    run ninja -C build examples/demo/gpuvision-demo gst/libgstgpuvision.so
    if [[ ! $demo_input ]]; then
        ! fetch_clip "$clip_package" "$clip" ||
            clip_arguments=(--credit "$clip_credit" --cut "$clip_cut" "$PWD/build/demo-clip/$clip_package/$clip")
        ! fetch_clip "$sift_package" "$sift_clip" ||
            clip_arguments+=(--sift-credit "$sift_credit"
                --sift-clip "$PWD/build/demo-clip/$sift_package/$sift_clip")
        picture=$(realpath --relative-to="$caller" "$find_picture")
        clip_arguments+=(--find "gpusift reference=${picture// /\\ } overlay=outline")
    fi
    run meson devenv -C build -w "$caller" "$PWD/build/examples/demo/gpuvision-demo" \
        --out "$PWD/out" "${clip_arguments[@]}" "$@"
}
