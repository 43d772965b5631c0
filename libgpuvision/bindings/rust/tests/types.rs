// SPDX-License-Identifier: BSD-2-Clause
//! Whether functions and fields in src/sys.rs have the types that the headers give them, by the
//! text of both, where this crate lies beside the headers.

use std::collections::BTreeSet;
use std::fs;

/// The first is src/sys.rs, the others have structs that it gives other names.
const SOURCES: [&str; 5] = [
    include_str!("../src/sys.rs"),
    include_str!("../src/ccl.rs"),
    include_str!("../src/image.rs"),
    include_str!("../src/matching.rs"),
    include_str!("../src/sift.rs"),
];

/// What stands between two marks, each time.
fn between<'a>(text: &'a str, start: &str, end: &str) -> Vec<&'a str> {
    text.split(start).skip(1).filter_map(|rest| Some(rest.split_once(end)?.0)).collect()
}

/// What `const gpv_image *src` or `double matrix[9]` is in Rust, without spaces.
fn declared(c: &str) -> (&str, String) {
    let (c, length) = c.trim().split_once('[').unwrap_or((c.trim(), ""));
    let (before, name) = c.split_at(c.rfind([' ', '*']).expect(c) + 1);
    let base = before.trim_start_matches("const ").trim_end_matches([' ', '*']);
    let mut kind = match (base, base.strip_suffix("_t")) {
        ("float", _) => "f32".to_owned(),
        ("double", _) => "f64".to_owned(),
        ("char" | "void", _) => format!("c_{base}"),
        (_, Some(number)) => number.replace("uint", "u").replace("int", "i"),
        _ => base.to_owned(),
    };
    for level in 0..before.matches('*').count() {
        let is_const = level == 0 && before.starts_with("const ");
        kind = format!("*{}{kind}", if is_const { "const" } else { "mut" });
    }
    if let Some(length) = length.strip_suffix(']') {
        kind = format!("[{kind};{length}]");
    }
    (name, kind)
}

/// Functions, fields and names of types in headers, as Rust has them, without spaces.
fn types_of_c(text: &str) -> BTreeSet<String> {
    let code = text.split("/*").map(|part| part.split_once("*/").map_or(part, |it| it.1));
    let words: Vec<String> = code.map(|part| part.replace("GPV_NODISCARD", "")).collect();
    let code = words.concat().split_whitespace().collect::<Vec<_>>().join(" ");
    let mut types = BTreeSet::new();
    for function in between(&code, "GPV_API ", ");") {
        let (head, arguments) = function.split_once('(').expect(function);
        let arguments = arguments.split(',').filter(|&it| it != "void").map(declared);
        let arguments: Vec<_> = arguments.map(|(name, kind)| format!("{name}:{kind}")).collect();
        let (name, result) = declared(head);
        types.insert(format!("{name}({})->{result}", arguments.join(",")).replace("->c_void", ""));
    }
    let structs = between(&code, "typedef struct ", "}");
    let structs = structs.iter().filter_map(|it| it.split_once(" {"));
    for (name, body) in structs.filter(|(name, _)| !name.contains(';')) {
        let fields = body.split(';').filter(|it| !it.trim().is_empty()).map(declared);
        types.extend(fields.map(|(field, kind)| format!("{name}.{field}:{kind}")));
    }
    let names = between(&code, "typedef ", ";").into_iter().filter(|it| !it.contains(['(', '{']));
    let names = names.filter(|it| !it.starts_with("struct")).map(declared);
    types.extend(names.map(|(name, kind)| format!("{name}={kind}")));
    types
}

/// The same in src/sys.rs.
fn types_of_sys() -> BTreeSet<String> {
    let code = |text: &str| {
        let lines = text.lines().map(str::trim).filter(|it| !it.starts_with(['#', '/']));
        lines.collect::<String>().replace(' ', "").replace("r#", "")
    };
    let [sys, elsewhere @ ..] = SOURCES.map(code);
    let mut types: BTreeSet<String> =
        between(&sys, "pubfn", ";").iter().map(|it| it.replace(",)", ")")).collect();
    let mut add = |name: &str, fields: &str| {
        let fields = fields.split_terminator(',').map(|it| it.trim_start_matches("pub"));
        types.extend(fields.map(|field| format!("{name}.{field}")));
    };
    let structs = between(&sys, "pubstructgpv_", "}");
    for (name, fields) in structs.iter().filter_map(|it| it.split_once('{')) {
        add(&format!("gpv_{name}"), fields);
    }
    let words: Vec<&str> = SOURCES[0].split([' ', ',', ':', ';', '{', '}']).collect();
    for alias in words.windows(3).filter(|it| it[1] == "as" && it[2].starts_with("gpv_")) {
        let start = format!("pubstruct{}{{", alias[0]);
        let found = elsewhere.iter().find_map(|it| between(it, &start, "}").pop());
        add(alias[2], found.expect(&start));
    }
    let names = between(&sys, "pubtype", ";").into_iter().filter(|it| !it.contains('('));
    types.extend(names.map(str::to_owned));
    types
}

#[test]
fn types_are_those_of_the_headers() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../include/gpuvision");
    let files = match fs::read_dir(folder) {
        Ok(files) => files.map(|file| file.unwrap().path()),
        Err(_) => return println!("nothing compared: {folder} is not there"),
    };
    let headers = files.filter(|path| path.extension().map_or(false, |it| it == "h"));
    let text: String = headers.map(|path| fs::read_to_string(path).unwrap()).collect();
    let (theirs, ours) = (types_of_c(&text), types_of_sys());
    assert!(theirs.len() > 200, "{} types: it is not all", theirs.len());
    let (missing, unknown) = (&theirs - &ours, &ours - &theirs);
    assert!(missing.is_empty() && unknown.is_empty(), "headers: {missing:#?}\nhere: {unknown:#?}");
}

#[test]
fn c_is_understood() {
    let c = "GPV_API GPV_NODISCARD gpv_status f(const a *b, /* , */\n float **c);\n\
        GPV_API void g(void); typedef struct s { void *d[E]; uint8_t h; } s;\n\
        typedef uint32_t t; typedef struct o o;";
    let types = types_of_c(c);
    let expected =
        ["f(b:*consta,c:*mut*mutf32)->gpv_status", "g()", "s.d:[*mutc_void;E]", "s.h:u8", "t=u32"];
    assert!(types.iter().eq(expected.iter()), "{types:?}");
}
