#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""Makes the tables of the elements' pages from the elements, and compares the rest of them.

What stands between the comments

    <!-- made by ./dev docs: properties -->
    <!-- /made -->

is made from what GStreamer knows of the element: `glance`, `properties` and `caps`, each once in every
page. The tables of fields below "Results" and "Statistics" are written by hand: they have to name the
fields that a message, the metadata and the property stats have, and no others. So is the table of names
in abi.md: it has to name the properties that have no field of their name in the C interface, and no others;
and the table of defaults below it: those whose default is not that of the field of their name.

usage: elements.py [--check] FOLDER

FOLDER has a page for each element of the plugin, and abi.md is beside it. --check writes nothing, and
prints what would change.
"""
import argparse
import ctypes
import os
import re
import sys
import warnings
from pathlib import Path

try:
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import GLib, GObject, Gst
except (ImportError, ValueError) as missing:
    print(f"skipped: {missing}: install python3-gi and gir1.2-gstreamer-1.0, and use the system's Python")
    sys.exit(77)

from tables import blocks, number, remake, table

# Of the package gpuvision, which needs NumPy, a module that does not.
TOP = Path(__file__).resolve().parents[1]
sys.path += [str(TOP / "libgpuvision/bindings/python/gpuvision"), str(TOP / "tests/abi")]
import _abi
import public

# Of GObject.ValueArray, for which PyGObject has nothing else.
warnings.simplefilter("ignore", DeprecationWarning)

PLUGIN = "gpuvision"
PICTURE = TOP / "tests" / "gst" / "coffee.ppm"
KINDS = {"gboolean": "boolean", "gint": "int", "guint": "uint", "guint64": "uint64", "gfloat": "float",
         "gchararray": "string"}
NAMES = re.compile(r"<!-- names -->\n(.*?)<!-- /names -->", re.S)
DEFAULTS = re.compile(r"<!-- defaults -->\n(.*?)<!-- /defaults -->", re.S)
RUN_BY = {"gpugraphcut": "segment"}  # the stem that an element runs, where it is not that of its name
WHOLE_RANGE = {GLib.MAXUINT, GLib.MAXUINT64}
TIMEOUT_S = 60


def escaped(text):
    return re.sub(r"([\\`*_<|])", r"\\\1", text)


# ---- at a glance ----

def glance(element):
    factory = element.get_factory()
    name, rank = factory.get_name(), factory.get_rank()
    presets = ", ".join(f"`{preset}`" for preset in sorted(element.get_preset_names()))
    return table(["at a glance", ""], [
        ["name", f"`{name}`: {escaped(factory.get_metadata('long-name'))}"],
        ["does", escaped(factory.get_metadata("description"))],
        ["class", factory.get_metadata("klass")],
        ["plugin", f"`{factory.get_plugin_name()}`"],
        ["rank", str(rank) if rank else "none: it is used where it is named, never chosen by itself"],
        ["results", f"[`{name}`](#results), as metadata of each frame and as messages"],
        *([["presets", f"{presets}: [what they stand for](../pipelines.md#presets)"]] if presets else []),
    ])


# ---- properties ----

def values_of(enum):
    """Those of an enumeration, by number. It is GObject's own with PyGObject 3.50, and Python's with newer ones."""
    if isinstance(enum, GObject.EnumClass):
        numbers = range(enum.minimum, enum.maximum + 1)
        return [value for value in (GObject.enum_get_value(enum, n) for n in numbers) if value]
    values = getattr(enum, "__enum_values__", None)
    return sorted(values.values() if values else enum, key=int)


def range_of(spec):
    return (number(spec.minimum), number(spec.maximum)) if hasattr(spec, "minimum") else ()


def type_of(spec):
    if spec.value_type.is_a(GObject.TYPE_ENUM):
        return "enum"
    kind = KINDS.get(spec.value_type.name, spec.value_type.name)
    ends = range_of(spec)
    return f"{kind}, {' … '.join(ends)}" if ends and spec.maximum not in WHOLE_RANGE else kind


def default_of(spec):
    value = getattr(spec, "default_value", None)
    if spec.value_type.is_a(GObject.TYPE_ENUM):
        return Gst.value_serialize(GObject.Value(spec.value_type, int(value)))
    if spec.value_type.name == "gboolean":
        return str(bool(value)).lower()
    if value is None:
        return "NULL" if spec.value_type.name == "gchararray" else ""
    # An unsigned number of any size is a colour.
    return f"{value:#010x}" if getattr(spec, "maximum", None) == GLib.MAXUINT else number(value)


def set_in(spec):
    flags = int(spec.flags)
    if not flags & int(GObject.ParamFlags.WRITABLE):
        return "read only"
    states = "any state" if flags & Gst.PARAM_MUTABLE_PLAYING else "NULL, READY"
    return f"{states}, controllable" if flags & Gst.PARAM_CONTROLLABLE else states


def meaning(spec, names):
    """The blurb, but for the range and the default, which have columns; and the values of an enumeration."""
    default, ends = default_of(spec), range_of(spec)
    blurb = spec.blurb.replace(f", {' to '.join(ends)}.", ".").replace(f" {' to '.join(ends)}.", "")
    said = re.search(r" Default ([^ ]+)\.$", blurb)
    if said:
        if said.group(1) not in {default, "none" if default == "NULL" else default}:
            raise ValueError(f"{spec.name}: the default is {default}, and the blurb says: {blurb}")
        blurb = blurb[:said.start()]
    text = re.sub(rf"\b(?:{'|'.join(names)})=[\w+-]+|\b(?:{'|'.join(n for n in names if '-' in n)})\b",
                  r"`\g<0>`", escaped(blurb))
    if spec.value_type.is_a(GObject.TYPE_ENUM):
        text = "<br>".join([text, *(f"`{value.value_nick}`: {escaped(value.value_name)}"
                                    for value in values_of(spec.enum_class))])
    return text


def specs_of(element, *owners):
    return sorted((spec for spec in GObject.list_properties(element) if spec.owner_type in owners),
                  key=lambda spec: owners.index(spec.owner_type))


def properties(element):
    """Its own, then those of all elements of the plugin, but for those of GStreamer."""
    kind = type(element).__gtype__
    specs = specs_of(element, kind, kind.parent)
    names = [spec.name for spec in specs]
    rows = [[f"`{spec.name}`", type_of(spec), default and f"`{default}`", set_in(spec), meaning(spec, names)]
            for spec in specs for default in [default_of(spec)]]
    return table(["property", "type", "default", "set in", "meaning"], rows)


# ---- caps ----

def ranged(text):
    """A range of caps as people write it."""
    ends = re.fullmatch(r"\[ (\S+), (\S+) \]", text)
    if not ends:
        return text
    return "any" if ends.groups() == ("0/1", f"{GLib.MAXINT}/1") else " … ".join(ends.groups())


def caps_of(template):
    """The rows of a pad without its name: caps, formats, and the other fields."""
    caps, rows = template.get_caps(), {}
    for i in range(caps.get_size()):
        structure, features = caps.get_structure(i), caps.get_features(i).to_string()
        name = structure.get_name() + ("" if features == "memory:SystemMemory" else f"({features})")
        fields = dict(re.findall(r"(\w+)=\(\w+\)(\{.*?\}|\[.*?\]|[^,;]+)", structure.to_string()))
        formats = re.findall(r"\w+", fields.pop("format"))
        sizes = tuple(ranged(fields[field]) for field in ("width", "height", "framerate"))
        rows.setdefault((name, *sizes), []).extend(formats)
    return [[f"`{name}`", ", ".join(formats), *sizes] for (name, *sizes), formats in rows.items()]


def caps(element):
    pads = {template.name_template: caps_of(template) for template in element.get_pad_template_list()}
    if pads["sink"] == pads["src"]:
        pads = {"sink, src": pads["sink"]}
    return table(["pad", "caps", "formats", "width", "height", "framerate"],
                 [[pad, *cells] for pad in sorted(pads) for cells in pads[pad]])


# ---- pages ----

MAKERS = {"glance": glance, "properties": properties, "caps": caps}


def remade(page, element, check):
    found = blocks(page.read_text(encoding="utf-8"))
    if sorted(found) != sorted(MAKERS):
        return [f"{page.name}: the blocks {', '.join(MAKERS)} must be there, once each; there are: {', '.join(found)}"]
    try:
        return remake(page, lambda name: MAKERS[name](element), check)
    except ValueError as error:
        return [f"{page.name}: {error}"]


# ---- fields ----

def fields_of(structure):
    """The names of its fields, and of those of the structures in its arrays."""
    names = set()
    for i in range(structure.n_fields()):
        name = structure.nth_field_name(i)
        names.add(name)
        if structure.get_field_type(name).name == "GstValueArray":
            values = structure.get_array(name)[1]
            for value in (values.get_nth(k) for k in range(values.n_values)):
                names |= fields_of(value) if isinstance(value, Gst.Structure) else set()
    return names


def run(name):
    """The fields of the results, and those of stats, after one picture, which is the reference as well."""
    pipeline = Gst.parse_launch(f"filesrc name=file ! pnmdec ! videoconvert ! {name} name=element backend=cpu "
                                "post-messages=true ! fakesink name=sink")
    element, bus, results = pipeline.get_by_name("element"), pipeline.get_bus(), set()
    pipeline.get_by_name("file").set_property("location", str(PICTURE))
    if element.find_property("reference"):
        element.set_property("reference", str(PICTURE))
    pipeline.set_state(Gst.State.PLAYING)
    try:
        while True:
            message = bus.timed_pop_filtered(TIMEOUT_S * Gst.SECOND, Gst.MessageType.ELEMENT |
                                             Gst.MessageType.EOS | Gst.MessageType.ERROR)
            if message is None or message.type == Gst.MessageType.ERROR:
                sys.exit(f"{name}: {message.parse_error() if message else f'no end after {TIMEOUT_S} s'}")
            if message.type == Gst.MessageType.EOS:
                break
            if message.src == element:
                results |= fields_of(message.get_structure())
        buffer = pipeline.get_by_name("sink").get_property("last-sample").get_buffer()
        results |= fields_of(buffer.get_custom_meta(name).get_structure())
        return results, fields_of(element.get_property("stats"))
    finally:
        pipeline.set_state(Gst.State.NULL)


def named(text, heading):
    """What the first columns of the tables below a heading name."""
    section = re.search(rf"^##+ {heading}\n(.*?)(?=^##|\Z)", text, re.M | re.S)
    cells = re.findall(r"^\| (`[^|]*) \|", section.group(1) if section else "", re.M)
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def compare(where, there, written):
    return [f"{where}: {what}: {', '.join(sorted(names))}" for what, names in
            (("not in the table", there - written), ("in the table alone", written - there)) if names]


def check_fields(pages, texts):
    faults = []
    statistics = named("\n".join(texts.values()), "Statistics")
    for page in pages:
        results, stats = run(page.stem)
        faults += compare(f"{page.name}: Results", results, named(texts[page], "Results"))
        faults += compare(f"{page.name}: stats, beside Statistics", stats, statistics)
    return faults


# ---- names ----

def header_of(stem):
    return (TOP / f"include/gpuvision/{stem}.h").read_text(encoding="utf-8")


def check_names(page, elements):
    """The properties of one element alone that have no field of their name."""
    table_of_names = NAMES.search(page.read_text(encoding="utf-8"))
    rows = re.findall(r"^\| (\w+) \| `([\w-]+)` \|", table_of_names.group(1) if table_of_names else "", re.M)
    faults = [f"{page.name}: names: there is no {name}" for name in sorted({who for who, _ in rows} - set(elements))]
    structs = public.structs(TOP / "include")
    for name, element in elements.items():
        fields = structs[f"gpv_{RUN_BY.get(name, name.removeprefix('gpu'))}_params"]
        without = {spec.name for spec in specs_of(element, type(element).__gtype__)
                   if spec.name.replace("-", "_") not in fields}
        faults += compare(f"{page.name}: names of {name}", without, {what for who, what in rows if who == name})
    return faults


# ---- defaults ----

def initialized(struct):
    """A struct of the C interface with the library's defaults."""
    params, library = struct(), ctypes.CDLL(f"libgpuvision.so.{_abi.API_VERSION_MAJOR}")
    getattr(library, _abi.INITIALIZERS[struct])(ctypes.byref(params), ctypes.sizeof(params))
    return params


def differing(name, element):
    """(element, property, its default, the library's), where these are not the same."""
    stem = RUN_BY.get(name, name.removeprefix("gpu"))
    params = initialized(getattr(_abi, f"{stem.title()}Params"))
    for spec in specs_of(element, type(element).__gtype__):
        field, default = spec.name.replace("-", "_"), default_of(spec)
        value = getattr(params, field, None)
        library = same = number(value)
        constant = re.search(rf"\b({f'gpv_{stem}_{field}_'.upper()}(\w+)) = {value}\b", header_of(stem))
        if constant:
            library, same = constant[1], constant[2].lower().replace("_", "-")
        elif spec.value_type.name == "gboolean":
            same = str(bool(value)).lower()
        if value is not None and default != same:
            yield name, spec.name, default, library


def check_defaults(page, elements):
    found = DEFAULTS.search(page.read_text(encoding="utf-8"))
    lines = found.group(1).splitlines()[2:] if found else []
    written = {" ".join(cell.strip(" `") for cell in line.split("|")[1:5]) for line in lines}
    there = {" ".join(row) for name, element in elements.items() for row in differing(name, element)}
    return compare(f"{page.name}: defaults", there, written)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--check", action="store_true", help="write nothing; print what would change")
    parser.add_argument("folder", type=Path)
    args = parser.parse_args()

    # A user's own presets are none of ours.
    os.environ["XDG_DATA_HOME"] = os.devnull
    Gst.init(None)
    elements = {feature.get_name(): feature.create(None)
                for feature in Gst.Registry.get().get_feature_list_by_plugin(PLUGIN)}
    pages = sorted(args.folder.glob("*.md"))
    if not elements or set(elements) != {page.stem for page in pages}:
        sys.exit(f"the plugin has the elements {sorted(elements)}, and {args.folder} the pages "
                 f"{[page.name for page in pages]}")

    faults, texts = [], {page: page.read_text(encoding="utf-8") for page in pages}
    for page in pages:
        faults += remade(page, elements[page.stem], args.check)
    if args.check and Gst.ElementFactory.find("pnmdec"):
        faults += check_fields(pages, texts)
    elif args.check:
        print("fields are not compared: there is no pnmdec")
    if args.check:
        faults += check_names(args.folder.parent / "abi.md", elements)
        faults += check_defaults(args.folder.parent / "abi.md", elements)
    print("\n".join(faults) or f"{len(pages)} pages")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
