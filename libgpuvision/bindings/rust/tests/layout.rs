// SPDX-License-Identifier: BSD-2-Clause
//! Whether src/sys.rs is what the headers say: sizes, offsets, constants, names of functions. The
//! variable GPUVISION_LAYOUT names a file with lines such as
//!
//! ```text
//! struct gpv_image 160 8
//! field gpv_image.format 4 4
//! value GPV_FORMAT_RGB8 4
//! function gpv_erode_run
//! ```

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::mem::{align_of, size_of, MaybeUninit};
use std::ptr::addr_of;

use gpuvision::sys;

/// What a line says, by what it is about.
type Layout = BTreeMap<String, Vec<f64>>;

/// They change with every addition, and no program of ours asks for them.
const LEFT_OUT: [&str; 3] =
    ["value GPV_API_VERSION", "value GPV_API_VERSION_MINOR", "value GPV_API_VERSION_PATCH"];

const SYS: &str = include_str!("../src/sys.rs");

fn size_of_target<T>(_: *const T) -> usize {
    size_of::<T>()
}

macro_rules! structs {
    ($layout:ident, $($name:ident {$($field:ident),+})+) => {$(
        let size = size_of::<sys::$name>() as f64;
        let alignment = align_of::<sys::$name>() as f64;
        $layout.insert(concat!("struct ", stringify!($name)).to_owned(), vec![size, alignment]);
        let value = MaybeUninit::<sys::$name>::uninit();
        let start = value.as_ptr();
        $(
            // SAFETY: addr_of! reads nothing.
            let field = unsafe { addr_of!((*start).$field) };
            let offset = field as usize - start as usize;
            $layout.insert(
                concat!("field ", stringify!($name), ".", stringify!($field)).to_owned(),
                vec![offset as f64, size_of_target(field) as f64],
            );
        )+
        // Does not compile if a field is missing above.
        let _ = |sys::$name { $($field: _),+ }: sys::$name| ();
    )+};
}

/// What is in src/sys.rs.
fn ours() -> Layout {
    let mut layout = Layout::new();
    structs! { layout,
        gpv_image {
            struct_size, format, memory, device, width, height, color_matrix, color_range, data,
            stride
        }
        gpv_rect {x, y, width, height}
        gpv_buffer {struct_size, memory, device, reserved, data, size}
        gpv_context_params {struct_size, backend, device, log_level, log, alloc, free, user}
        gpv_erode_params {
            struct_size, operation, shape, radius, radius_y, iterations, threshold, border,
            planes, reserved
        }
        gpv_ccl_params {
            struct_size, mode, connectivity, threshold, foreground, invert, min_area, max_area,
            output, reserved
        }
        gpv_ccl_component {left, top, right, bottom, area, reserved, sum_x, sum_y}
        gpv_ccl_result {struct_size, count, components, reserved}
        gpv_kmeans_params {
            struct_size, clusters, max_clusters, max_iterations, tolerance, metric, init,
            color_space, seed, warm_start, reserved
        }
        gpv_kmeans_result {struct_size, clusters, iterations, empty, converged, reserved, inertia}
        gpv_sift_params {
            struct_size, max_features, octaves, octave_layers, contrast_threshold, edge_threshold,
            sigma, upsample, upright, root_sift, descriptor_type, reserved
        }
        gpv_sift_keypoint {x, y, sigma, angle, response, octave}
        gpv_sift_result {struct_size, count, dropped, reserved}
        gpv_match_params {struct_size, ratio, mutual, reserved}
        gpv_match_nearest {index, distance}
        gpv_match_pair {query, train, distance, second}
        gpv_match_result {struct_size, count, dropped, queries}
        gpv_homography_params {struct_size, threshold, confidence, max_iterations, seed, reserved}
        gpv_homography {struct_size, found, matrix, error, inliers, iterations}
        gpv_graphcut_params {struct_size, certificate, max_time_us, reserved}
        gpv_graphcut_result {struct_size, optimal, flow, cut, area, refused, reserved}
        gpv_segment_params {
            struct_size, model, warm_start, connectivity, iterations, lambda, sigma, output,
            certificate, max_time_us
        }
    }
    for (name, value) in SYS.lines().filter_map(constant) {
        layout.insert(format!("value {name}"), vec![value]);
    }
    for name in names_after("pub fn ") {
        layout.insert(format!("function {name}"), Vec::new());
    }
    layout
}

/// The name and value that a line such as `pub const GPV_OK: gpv_status = 0;` lays down.
fn constant(line: &str) -> Option<(&str, f64)> {
    let (name, rest) = line.strip_prefix("pub const ")?.split_once(": ")?;
    let (_, value) = rest.strip_suffix(';')?.split_once(" = ")?;
    Some((name, evaluate(value)))
}

/// A number, or one with a shift and perhaps a difference: (1 << 26) - 1.
fn evaluate(text: &str) -> f64 {
    if let Some((left, right)) = text.split_once(" - ") {
        return evaluate(left) - evaluate(right);
    }
    if let Some((left, right)) = text.split_once(" << ") {
        return evaluate(left.trim_start_matches('('))
            * evaluate(right.trim_end_matches(')')).exp2();
    }
    text.parse().expect(text)
}

/// Names that src/sys.rs declares behind this keyword.
fn names_after(keyword: &str) -> impl Iterator<Item = &'static str> + '_ {
    SYS.lines().filter_map(move |line| {
        let name = line.trim_start().strip_prefix(keyword)?;
        name.split(|c: char| !c.is_alphanumeric() && c != '_').next()
    })
}

fn read(text: &str) -> Layout {
    let parse = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let (about, numbers) = words.split_at(words.len().min(2));
        let numbers = numbers.iter().map(|number| number.parse().expect(line)).collect();
        (about.join(" "), numbers)
    };
    text.lines().map(parse).collect()
}

/// What differs, in either direction.
fn differences(ours: &Layout, theirs: &Layout) -> Vec<String> {
    let mut differences = Vec::new();
    for (about, numbers) in theirs.iter().filter(|(about, _)| !LEFT_OUT.contains(&about.as_str())) {
        match ours.get(about) {
            Some(own) if own == numbers => (),
            own => differences.push(format!("{about}: {numbers:?} in the headers, here {own:?}")),
        }
    }
    let unknown = ours.keys().filter(|about| !theirs.contains_key(*about));
    differences.extend(unknown.map(|about| format!("{about} is not in the headers")));
    differences
}

#[test]
fn sys_is_what_the_headers_say() {
    let path = match env::var_os("GPUVISION_LAYOUT") {
        Some(path) => path,
        None => {
            println!("nothing compared: GPUVISION_LAYOUT does not name a file of the layout");
            return;
        }
    };
    let theirs = read(&fs::read_to_string(&path).expect("GPUVISION_LAYOUT names a file"));
    assert!(theirs.len() > 300, "{path:?} has {} lines: it is not all", theirs.len());
    let differences = differences(&ours(), &theirs);
    assert!(differences.is_empty(), "\n{}", differences.join("\n"));
}

#[test]
fn all_of_sys_is_compared() {
    let ours = ours();
    let structs = names_after("pub struct ").filter(|name| !name.is_empty());
    let structs = structs.map(|name| format!("struct {name}"));
    let values = names_after("pub const ").map(|name| format!("value {name}"));
    let missing: Vec<String> = structs.chain(values).filter(|it| !ours.contains_key(it)).collect();
    assert!(missing.is_empty(), "in src/sys.rs, but not in this test: {missing:?}");
}

#[test]
fn differences_are_seen() {
    let ours = read("struct a 8 4\nfield a.x 0 4\nvalue B 1\nfunction f");
    assert!(differences(&ours, &ours).is_empty());
    for theirs in [
        "struct a 16 4\nfield a.x 0 4\nvalue B 1\nfunction f",
        "struct a 8 4\nfield a.x 4 4\nvalue B 1\nfunction f",
        "struct a 8 4\nfield a.x 0 4\nvalue B 2\nfunction f",
        "struct a 8 4\nfield a.x 0 4\nvalue B 1\nfunction g",
        "struct a 8 4\nfield a.x 0 4\nfield a.y 4 4\nvalue B 1\nfunction f",
        "struct a 8 4\nfield a.x 0 4\nvalue B 1\nvalue C 1\nfunction f",
        "struct a 8 4\nvalue B 1\nfunction f",
        "struct a 8 4\nfield a.x 0 4\nfunction f",
    ] {
        assert!(!differences(&ours, &read(theirs)).is_empty(), "{theirs}");
    }
}
