# SPDX-License-Identifier: BSD-2-Clause
"""Names and comments of the headers, as another language has them."""
import re
import textwrap

import public

COMMAND = "meson compile -C build interface-update"
NOT_BY_HAND = f"Code generated from include/gpuvision by {COMMAND}. DO NOT EDIT."
# What a comment says that a language may say in another way.
WORD = re.compile(r"\bgpv_\w+(?:\(\))?|\bGPV_\w+|\b[A-Z][A-Z0-9]+\b|\b(?:u?int\d+|float)\b")
# Words of constants whose letters are not those of every other one.
SPELLED = {"TOPHAT": "TopHat", "BLACKHAT": "BlackHat", "PLUSPLUS": "PlusPlus"}


def camel(name, spelled=SPELLED):
    """radius_y is RadiusY, PLUSPLUS is PlusPlus."""
    return "".join(spelled.get(word.upper(), word.capitalize()) for word in name.split("_"))


def stem_of(name):
    """The struct or type without gpv_: erode_params."""
    return name.removeprefix("gpv_")


def prefix_of(scalar):
    """What the constants of a choice begin with: GPV_KMEANS_INIT_ of gpv_kmeans_init_method."""
    exact = scalar.name.upper() + "_"
    if all(value.name.startswith(exact) for value in scalar.values):
        return exact
    return "GPV_KMEANS_INIT_" if scalar.name == "gpv_kmeans_init_method" else "GPV_"


def choice_name(scalar):
    """ErodeShape, KmeansInit, Status."""
    prefix = prefix_of(scalar)
    return camel(stem_of(scalar.name) if prefix == "GPV_" else prefix.removeprefix("GPV_").rstrip("_"))


def is_flag(field):
    """Of a number that says yes or no."""
    return field.type.base == "uint32_t" and bool(re.search(r"\b0 or 1\b", field.text))


def reserved(field):
    return field.name == "struct_size" or field.name.startswith("reserved")


class Headers:
    """What is declared, by kind."""

    def __init__(self, include):
        self.include = include
        self.by_header = public.declarations(include)
        self.structs = public.of_kind(include, public.Struct)
        self.handles = {it.name for it in public.of_kind(include, public.Handle)}
        self.callbacks = public.of_kind(include, public.Callback)
        self.functions = public.of_kind(include, public.Function)
        self.scalars = {it.name: it for it in public.of_kind(include, public.Scalar)}
        self.choices = {name: it for name, it in self.scalars.items() if it.values}
        self.macros = public.of_kind(include, public.Constant)
        self.places = public.places(include)
        # Of the algorithms: those of a context have callbacks.
        self.params = [it for it in self.structs
                       if it.name.endswith("_params") and it.name != "gpv_context_params"]
        named = {field.type.base for struct in self.params for field in struct.fields}
        self.params_choices = [it for name, it in self.choices.items() if name in named]
        # Of arrays that the caller gives: numbers alone, of which none is a size.
        self.records = [it for it in self.structs if it.fields[0].name != "struct_size" and all(
            field.type.base in public.NUMBERS and not field.type.pointers for field in it.fields)]


class Comments:
    """Comments of the headers, in the words of a language. Its subclass says what it makes of a value of a
    choice, another constant, a type, and a function."""
    true, false = "true", "false"
    numbers = {}  # what float and the like are called
    always = ()  # choices whose values are named by their last words in any comment

    def __init__(self, headers):
        self.headers = headers
        self.values = {value.name: (choice, value.name.removeprefix(prefix_of(choice)))
                       for choice in headers.choices.values() for value in choice.values}
        self.macros = {it.name: it for it in headers.macros}

    def words(self, text, near=()):
        """near: choices of which the comment names values by their last words."""
        bare = {name.removeprefix(prefix_of(choice)): name
                for choice in [*(self.headers.choices[name] for name in self.always), *near]
                for name in (value.name for value in choice.values)}

        def word(it):
            name = bare.get(it[0], it[0])
            if name in self.values:
                return self.value(*self.values[name])
            if name in self.macros:
                return self.constant(self.macros[name])
            if name.endswith("()"):
                return self.function(stem_of(name.removesuffix("()")))
            return self.type(name) if name.startswith("gpv_") else self.numbers.get(name, name)
        text = text.replace("params->", "")
        return WORD.sub(word, text)

    def phrase(self, text, near=(), flag=False):
        """A comment, ending with a full stop."""
        if flag:
            text = re.sub(r"^1(?: =|:) ", "whether ", re.sub(r"\b0 or 1[;,] ", "", text))
            text = re.sub(r"\bdefault 0$", f"default {self.false}", text)
            text = re.sub(r"\bdefault 1$", f"default {self.true}", text)
        text = self.words(re.sub(r"(?<=\. )default", "Default", text), near)
        return text + ("" if text.endswith(".") else ".")

    def sentence(self, *arguments):
        text = self.phrase(*arguments)
        return text[:1].upper() + text[1:]

    def of_field(self, struct, field):
        """What phrase() and sentence() take."""
        choices = self.headers.choices
        near = [choices[it.type.base] for it in struct.fields if it.type.base in choices]
        return field.text, near, is_flag(field)

    def of_params(self, struct, start):
        """With what the language says of how one starts."""
        return self.words(re.sub(r" Start from gpv_\w+\(\)\.", start, struct.text))


def lines(text, mark, width):
    """Wrapped, each behind a mark; paragraphs stay apart."""
    found = []
    for paragraph in text.split("\n\n"):
        found += [mark] if found else []
        found += [f"{mark} {line}" for line in textwrap.wrap(
            paragraph, width - len(mark.expandtabs(4)) - 1, break_long_words=False, break_on_hyphens=False)]
    return found


def comment(text, mark, width):
    return "".join(f"{line}\n" for line in lines(text, mark, width))
