# SPDX-License-Identifier: BSD-2-Clause
"""Go: types.go, parameters, their choices and records. All else of the headers cgo reads itself."""
import re

from words import (NOT_BY_HAND, SPELLED, Comments, camel, choice_name, comment, is_flag, prefix_of, reserved,
                   stem_of)

WIDTH = 100
TAB = "\t"
ABBREVIATIONS = SPELLED | {word: word for word in ("CPU", "CUDA", "GMM", "RGB")}
KEYWORDS = {"func", "go", "map", "range", "select", "type", "var"}
NUMBERS = {"int32_t": "int32", "uint32_t": "uint32", "int64_t": "int64", "uint64_t": "uint64",
           "float": "float32", "double": "float64"}
TOP = f"""// SPDX-License-Identifier: BSD-2-Clause
// {NOT_BY_HAND}

package gpuvision

// #include "binding.h"
import "C"

import (
	"time"
	"unsafe"
)
"""
PARAMS = """}}

func {stem}Defaults() (c C.{struct}) {{
	C.{struct}_init(&c, C.sizeof_{struct})
	return c
}}

// Default{name} gives the library's defaults.
func Default{name}() (p {name}) {{
	c := {stem}Defaults()
{from_c}	return p
}}

func (p *{name}) c() *C.{struct} {{
	if p == nil {{
		return nil
	}}
	c := {stem}Defaults()
{to_c}	return &c
}}
"""
RECORD = """}}

// Does not compile where it is not as large as in C; no struct has a gap.
var _ = [1]struct{{}}{{}}[unsafe.Sizeof({name}{{}})-C.sizeof_{struct}]
"""


class Words(Comments):
    numbers = {"float": "float32"}

    def value(self, choice, name):
        return constant_name(choice, name)

    def constant(self, macro):
        return camel(macro.name.removeprefix("GPV_"))

    def type(self, name):
        return f"[{camel(stem_of(name))}]"

    def function(self, name):
        stem, _, method = name.partition("_")
        return "[Context.FindHomography]" if name == "homography_find" else f"[{camel(stem)}.{camel(method)}]"

    def words(self, text, near=()):
        """Fields of two words have other names; those of one are words of a sentence, too."""
        return re.sub(r"\b[a-z]+(?:_[a-z]+)+\b(?!\()", lambda it: go_name(it[0]), super().words(text, near))

    def about(self, name, text, indent=""):
        """A comment begins with the name that it is about."""
        return comment(f"{name}: {text}", f"{indent}//", WIDTH)

    def about_type(self, name, text):
        return self.about(name, text[:1].lower() + text[1:])


def constant_name(choice, name):
    return choice_name(choice) + camel(name, ABBREVIATIONS)


def go_name(name):
    """Microseconds are a time.Duration."""
    return camel(name.removesuffix("_us"))


def conversions(headers, field):
    """Type in Go, what makes it of C's, and what makes C's of it."""
    base, theirs, mine = field.type.base, f"c.{in_c(field.name)}", f"p.{go_name(field.name)}"
    if base in headers.choices:
        name = choice_name(headers.choices[base])
        return name, f"{name}({theirs})", f"C.{base}({mine})"
    if is_flag(field):
        return "bool", f"{theirs} != 0", f"flag({mine})"
    if field.name.endswith("_us"):
        return "time.Duration", f"duration({theirs})", f"microseconds({mine})"
    if base == "int32_t":
        return "int", f"int({theirs})", f"clamp({mine})"
    return NUMBERS[base], f"{NUMBERS[base]}({theirs})", f"C.{base}({mine})"


def in_c(name):
    return f"_{name}" if name in KEYWORDS else name


def choice(words, it):
    name = choice_name(it)
    yield f"\n{words.about_type(name, words.phrase(it.text, [it]))}type {name} uint32\n"
    yield f"\n// Values of [{name}].\nconst (\n"
    for value in it.values:
        own = constant_name(it, value.name.removeprefix(prefix_of(it)))
        yield f"{words.about(own, words.phrase(value.text, [it]), TAB)}{TAB}{own} {name} = C.{value.name}\n"
    yield ")\n"


def params(words, it):
    name, stem = camel(stem_of(it.name)), stem_of(it.name).removesuffix("_params")
    text = words.of_params(it, f" Start from [Default{name}].")
    text = text.replace("Parameters.", f"parameters of [{camel(stem)}].")
    yield f"\n{words.about_type(name, text)}type {name} struct {{\n"
    to_c = from_c = ""
    for field in it.fields:
        if not reserved(field):
            kind, theirs, mine = conversions(words.headers, field)
            text = words.phrase(*words.of_field(it, field))
            if kind == "time.Duration":
                text = re.sub("^microseconds", "time", text)
            yield f"{words.about(go_name(field.name), text, TAB)}{TAB}{go_name(field.name)} {kind}\n"
            from_c += f"{TAB}p.{go_name(field.name)} = {theirs}\n"
            to_c += f"{TAB}c.{in_c(field.name)} = {mine}\n"
    yield PARAMS.format(name=name, stem=stem, struct=it.name, from_c=from_c, to_c=to_c)


def record(words, it):
    name = camel(it.name.split("_")[-1])
    yield f"\n{words.about_type(name, words.phrase(it.text) + ' Laid out as in C.')}type {name} struct {{\n"
    for field in it.fields:
        kind = (f"[{field.type.length}]" if field.type.length else "") + NUMBERS[field.type.base]
        own = "_" if reserved(field) else go_name(field.name)
        about = f"{TAB}// Reserved.\n" if reserved(field) else words.about(own, words.phrase(field.text), TAB)
        yield f"{about}{TAB}{own} {kind}\n"
    yield RECORD.format(name=name, struct=it.name)


def types(headers):
    words = Words(headers)
    yield TOP
    for it in headers.params_choices:
        yield from choice(words, it)
    for it in headers.params:
        yield from params(words, it)
    for it in headers.records:
        if it.name != "gpv_rect":  # which is an image.Rectangle
            yield from record(words, it)
