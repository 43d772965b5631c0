// SPDX-License-Identifier: BSD-2-Clause
//! Runs five algorithms on a picture and writes what they make of it.
//!
//! usage: five PICTURE FOLDER
//!
//! PICTURE is a binary PGM or PPM of 8 bits. FOLDER is made if it is not there, and receives erode,
//! ccl, kmeans, sift and graphcut, each as .pgm or .ppm.

use std::env;
use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gpuvision::kmeans;
use gpuvision::segment::Known;
use gpuvision::{
    Ccl, CclOutput, CclParams, Context, DrawStyle, Erode, ErodeParams, ErodeShape, Format, Image,
    ImageMut, Kmeans, KmeansColorSpace, KmeansParams, Rect, Segment, SegmentParams, Sift,
    SiftParams,
};

const ORANGE: u32 = 0xff4000;
const MAX_FEATURES: usize = 200;

/// Pixels without gaps.
struct Picture {
    format: Format,
    width: usize,
    height: usize,
    pixels: Vec<u8>,
}

impl Picture {
    /// A black one.
    fn new(format: Format, width: usize, height: usize) -> Result<Picture, String> {
        let bytes = format
            .bytes(width, height, 0)
            .map_err(|_| format!("a picture of {width} x {height} pixels is not possible"))?;
        Ok(Picture { format, width, height, pixels: vec![0; bytes] })
    }

    fn like(other: &Picture) -> Picture {
        Picture { pixels: vec![0; other.pixels.len()], ..*other }
    }

    fn image(&self) -> gpuvision::Result<Image<'_>> {
        Image::new(self.format, self.width, self.height, &self.pixels)
    }

    fn image_mut(&mut self) -> gpuvision::Result<ImageMut<'_>> {
        ImageMut::new(self.format, self.width, self.height, &mut self.pixels)
    }

    fn read(path: &Path) -> Result<Picture, String> {
        let file = fs::read(path).map_err(|error| format!("cannot be opened: {error}"))?;
        let (format, width, height, pixels) =
            parse(&file).ok_or("not a binary PGM or PPM of 8 bits without comments")?;
        let mut picture = Picture::new(format, width, height)?;
        let bytes = picture.pixels.len();
        picture.pixels.copy_from_slice(pixels.get(..bytes).ok_or("ends before its last pixel")?);
        Ok(picture)
    }

    fn write(&self, folder: &Path, name: &str) -> Result<(), String> {
        let (kind, suffix) =
            if self.format == Format::Gray8 { ("P5", "pgm") } else { ("P6", "ppm") };
        let path = folder.join(name).with_extension(suffix);
        let mut file = format!("{kind}\n{} {}\n255\n", self.width, self.height).into_bytes();
        file.extend(&self.pixels);
        fs::write(&path, file)
            .map_err(|error| format!("{} cannot be written: {error}", path.display()))
    }
}

/// Format, width and height of a PGM or PPM, and what follows its header.
fn parse(file: &[u8]) -> Option<(Format, usize, usize, &[u8])> {
    let format = match file.get(..2)? {
        b"P5" => Format::Gray8,
        b"P6" => Format::Rgb8,
        _ => return None,
    };
    let (width, rest) = parse_number(&file[2..])?;
    let (height, rest) = parse_number(rest)?;
    let (largest, rest) = parse_number(rest)?;
    let (&space, pixels) = rest.split_first()?;
    (largest == 255 && is_space(space)).then_some((format, width, height, pixels))
}

/// A number behind white space, of those that an i32 can hold, and what follows it.
fn parse_number(text: &[u8]) -> Option<(usize, &[u8])> {
    let spaces = text.iter().take_while(|&&byte| is_space(byte)).count();
    let text = &text[spaces..];
    let digits = text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (number, rest) = text.split_at(digits);
    let number: i32 = std::str::from_utf8(number).ok()?.parse().ok()?;
    (spaces > 0).then_some((number as usize, rest))
}

/// As C's isspace().
fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// What the five make of a picture: pictures by name, and lines that say what was found.
fn run(picture: &Picture) -> gpuvision::Result<(Vec<(&'static str, Picture)>, String)> {
    let src = picture.image()?;
    let context = Context::new(Default::default())?;
    let mut lines = vec![format!(
        "{} x {} pixels, on {}",
        picture.width,
        picture.height,
        context.device_name()
    )];

    let params = ErodeParams { shape: ErodeShape::Ellipse, radius: 2, ..Default::default() };
    let mut eroded = Picture::like(picture);
    Erode::new(&context, &params)?.run(&src, &mut eroded.image_mut()?)?;
    lines.push(format!("erode     ellipse of radius {}", params.radius));

    let params =
        CclParams { threshold: 128, min_area: 16, output: CclOutput::Colors, ..Default::default() };
    let mut labelled = Picture { format: Format::Rgb8, ..Picture::like(picture) };
    labelled.pixels.resize(labelled.width * labelled.height * 3, 0);
    let components = Ccl::new(&context, &params)?.run(&src, Some(&mut labelled.image_mut()?))?;
    let mut line = format!("ccl       {} components", components.len());
    // Of equal ones max_by_key() takes the last.
    if let Some(largest) = components.iter().rev().max_by_key(|component| component.area) {
        line += &format!(
            ", the largest has {} pixels, from {},{} to {},{}",
            largest.area, largest.left, largest.top, largest.right, largest.bottom
        );
    }
    lines.push(line);

    let params = KmeansParams { clusters: 4, ..Default::default() };
    let mut recoloured = Picture::like(picture);
    let clusters =
        Kmeans::new(&context, &params)?.run(&src, None, Some(&mut recoloured.image_mut()?))?;
    let mut line = format!(
        "kmeans    {} clusters after {} iterations:",
        clusters.result.clusters, clusters.result.iterations
    );
    for centroid in &clusters.centroids {
        line += &format!(" #{:06x}", kmeans::color(KmeansColorSpace::Rgb, centroid));
    }
    lines.push(line);

    let params = SiftParams { max_features: MAX_FEATURES as i32, ..Default::default() };
    let mut sift = Sift::new(&context, &params)?;
    let keypoints = sift.detect(&src, None, MAX_FEATURES)?;
    let mut drawn = Picture { pixels: picture.pixels.clone(), ..*picture };
    sift.draw(&mut drawn.image_mut()?, DrawStyle::Rich, ORANGE)?;
    let mut line = format!("sift      {} keypoints", keypoints.len());
    if let Some(strongest) = keypoints.first() {
        line += &format!(", the strongest at {:.2},{:.2}", strongest.x, strongest.y);
    }
    lines.push(line);

    let params = SegmentParams { certificate: true, ..Default::default() };
    let (x, y) = (picture.width as i32 / 8, picture.height as i32 / 8);
    let (width, height) = (picture.width as i32 - 2 * x, picture.height as i32 - 2 * y);
    let known = Known { rect: Some(Rect { x, y, width, height }), ..Default::default() };
    let mut overlaid = Picture::like(picture);
    let cut = Segment::new(&context, &params)?.run(
        &src,
        &known,
        None,
        Some(&mut overlaid.image_mut()?),
    )?;
    lines.push(format!(
        "graphcut  {} pixels of the foreground, flow {}, cut {}",
        cut.area,
        cut.flow,
        cut.cut.unwrap_or(-1)
    ));

    let pictures = vec![
        ("erode", eroded),
        ("ccl", labelled),
        ("kmeans", recoloured),
        ("sift", drawn),
        ("graphcut", overlaid),
    ];
    Ok((pictures, lines.join("\n") + "\n"))
}

fn five(path: &Path, folder: &Path) -> Result<(), String> {
    let picture = Picture::read(path)?;
    if let (Ok(path), Ok(folder)) = (path.canonicalize(), folder.canonicalize()) {
        if path.parent() == Some(folder.as_path()) {
            return Err("is in the folder for the results; name another folder".into());
        }
    }
    let (pictures, lines) = run(&picture).map_err(|error| error.to_string())?;
    if !folder.is_dir() {
        fs::create_dir(folder)
            .map_err(|error| format!("{} cannot be made: {error}", folder.display()))?;
    }
    for (name, picture) in &pictures {
        picture.write(folder, name)?;
    }
    io::stdout()
        .write_all(lines.as_bytes())
        .map_err(|error| format!("standard output cannot be written: {error}"))
}

fn main() -> ExitCode {
    let arguments: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let (path, folder) = match arguments.as_slice() {
        [path, folder] => (path, folder),
        _ => {
            eprintln!("usage: five PICTURE FOLDER");
            return ExitCode::from(2);
        }
    };
    match five(path, folder) {
        Ok(()) => ExitCode::SUCCESS,
        Err(text) => {
            eprintln!("{}: {text}", path.display());
            ExitCode::FAILURE
        }
    }
}
