# SPDX-License-Identifier: BSD-2-Clause
"""Rust: sys.rs, the interface as it is, and types.rs, parameters, their choices and records."""
import public
from words import NOT_BY_HAND, Comments, camel, choice_name, comment, is_flag, prefix_of, reserved, stem_of

WIDTH = 100
NUMBERS = {"int32_t": "i32", "uint32_t": "u32", "int64_t": "i64", "uint64_t": "u64", "uint8_t": "u8",
           "float": "f32", "double": "f64", "char": "c_char", "void": "c_void"}
KEYWORDS = {"as", "box", "fn", "in", "loop", "match", "move", "ref", "type", "use", "where"}
MODULES = {"match": "matching"}
SYS = f"""// SPDX-License-Identifier: BSD-2-Clause
// {NOT_BY_HAND}
//! The C interface as it is: every struct, constant and function of the headers of libgpuvision,
//! under its own name. The headers say what each of them means; the rest of this crate is made of
//! them.

#![allow(missing_docs, non_camel_case_types)]

use std::marker::{{PhantomData, PhantomPinned}};
use std::os::raw::{{c_char, c_void}};

/// An object that only the library can look into, of a thread at a time, at its place.
macro_rules! opaque {{
    ($name:ident) => {{
        #[repr(C)]
        #[derive(Debug)]
        pub struct $name {{
            _private: [u8; 0],
            _marker: PhantomData<(*mut u8, PhantomPinned)>,
        }}
    }};
}}

/// Does not compile where a struct is not as large as in C. No struct has a gap.
macro_rules! assert_size {{
    ($name:ident, $size:expr) => {{
        #[cfg(target_pointer_width = "64")]
        const _: () = assert!(std::mem::size_of::<$name>() == $size);
    }};
}}
"""
TYPES = f"""// SPDX-License-Identifier: BSD-2-Clause
// {NOT_BY_HAND}
//! Parameters, their choices, and records, which the modules of the algorithms make public.
"""


class Words(Comments):
    numbers = {"uint8": "u8", "uint16": "u16", "int32": "i32", "float": "f32"}
    always = ("gpv_format",)

    def value(self, choice, name):
        if choice.name == "gpv_format":
            return camel(name)
        return f"[`{choice_name(choice)}::{camel(name)}`]"

    def constant(self, macro):
        stem, _, name = macro.name.removeprefix("GPV_").partition("_")
        return f"[`{name}`](crate::{MODULES.get(stem.lower(), stem.lower())}::{name})"

    def type(self, name):
        return f"[`{camel(stem_of(name))}`]"

    def function(self, name):
        stem, _, method = name.partition("_")
        if name == "homography_find":
            return "[`find_homography`](crate::find_homography)"
        path = f"{camel(stem)}::{method}"
        return f"[`{path}`](crate::{path})"


def raw(name):
    return f"r#{name}" if name in KEYWORDS else name


def rust_type(it):
    found = NUMBERS.get(it.base, it.base)
    for is_const in it.pointers:
        found = f"*{'const' if is_const else 'mut'} {found}"
    if it.length:
        found = f"[{found}; {it.length if it.length.isdigit() else f'{it.length} as usize'}]"
    return found


def signature(head, arguments, result):
    """On one line, or an argument a line."""
    returns = "" if (result.base, result.pointers) == ("void", []) else f" -> {rust_type(result)}"
    words = [f"{raw(it.name)}: {rust_type(it.type)}" for it in arguments]
    line = f"{head}({', '.join(words)}){returns}"
    if len(line) < WIDTH - 4:
        return line
    return f"{head}(\n" + "".join(f"    {word},\n" for word in words) + f"){returns}"


def indented(text):
    return "".join(f"    {line}\n" for line in text.split("\n"))


def struct(headers, it):
    fields = "".join(f"    pub {raw(field.name)}: {rust_type(field.type)},\n" for field in it.fields)
    size = headers.places[it.name][0]
    return (f"\n#[repr(C)]\n#[derive(Clone, Copy, Debug)]\npub struct {it.name} {{\n{fields}}}\n"
            f"assert_size!({it.name}, {size});\n")


def constant(name, kind, value):
    return f"pub const {name}: {kind} = {value};\n"


def sys(headers):
    yield SYS
    records = {it.name: it for it in headers.records}
    for header, declared in headers.by_header.items():
        if not declared:
            continue
        yield f"\n// ---- {header} {'-' * (80 - len(header))}\n"
        macros = [it for it in declared if isinstance(it, public.Constant)]
        if macros:
            yield "\n"
        for it in macros:
            yield constant(it.name, "f32" if isinstance(it.value, float) else "i32", it.value)
        for it in declared:
            if isinstance(it, public.Handle):
                yield f"\nopaque!({it.name});\n"
            elif isinstance(it, public.Scalar):
                yield f"\npub type {it.name} = {rust_type(it.type)};\n"
                yield from (constant(value.name, it.name, value.value) for value in it.values)
            elif isinstance(it, public.Callback):
                takes = signature('unsafe extern "C" fn', it.arguments, it.result)
                yield f"\npub type {it.name} = Option<\n{indented(takes)}>;\n"
            elif isinstance(it, public.Struct) and it.name in records:
                yield f"\npub use crate::types::{record_name(it)} as {it.name};\n"
                yield f"assert_size!({it.name}, {headers.places[it.name][0]});\n"
            elif isinstance(it, public.Struct):
                yield struct(headers, it)
        functions = [it for it in declared if type(it) is public.Function]
        if functions:
            calls = "".join(indented(signature(f"pub fn {it.name}", it.arguments, it.result) + ";")
                            for it in functions)
            yield f'\nextern "C" {{\n{calls}}}\n'


def record_name(it):
    return camel(it.name.split("_")[-1])


def field_type(headers, field):
    if field.type.base in headers.choices:
        return choice_name(headers.choices[field.type.base])
    return "bool" if is_flag(field) else rust_type(field.type)


def types(headers):
    words = Words(headers)
    yield TYPES
    for it in headers.params_choices:
        yield f"\nenumeration! {{\n{comment(words.sentence(it.text, [it]), '    ///', WIDTH)}"
        yield f"    {choice_name(it)} {{\n"
        for value in it.values:
            yield comment(words.sentence(value.text, [it]), "        ///", WIDTH)
            yield f"        {camel(value.name.removeprefix(prefix_of(it)))} = {value.name},\n"
        yield "    }\n}\n"
    for it in headers.params:
        text = words.of_params(it, " `Default` has the library's.")
        yield f"\nparameters! {{\n{comment(text, '    ///', WIDTH)}"
        yield f"    {camel(stem_of(it.name))}: {it.name}, {it.name}_init {{\n"
        for field in it.fields:
            if not reserved(field):
                yield comment(words.sentence(*words.of_field(it, field)), "        ///", WIDTH)
                yield f"        {raw(field.name)}: {field_type(headers, field)},\n"
        yield "    }\n}\n"
    for it in headers.records:
        floats = any(field.type.base in ("float", "double") for field in it.fields)
        yield f"\n{comment(words.sentence(it.text), '///', WIDTH)}#[repr(C)]\n"
        yield f"#[derive(Clone, Copy, Debug, Default, PartialEq{'' if floats else ', Eq, Hash'})]\n"
        yield f"pub struct {record_name(it)} {{\n"
        for field in it.fields:
            if reserved(field):
                yield "    #[doc(hidden)]\n"
            else:
                yield comment(words.sentence(field.text), "    ///", WIDTH)
            yield f"    pub {raw(field.name)}: {rust_type(field.type)},\n"
        yield "}\n"
