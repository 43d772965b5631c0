# SPDX-License-Identifier: BSD-2-Clause
"""What the elements of gpuvision say on the bus, as values of JSON; and GStreamer itself."""
import math
import sys
import warnings

try:
    import gi
    gi.require_version("Gst", "1.0")
    from gi.repository import GLib, GObject, Gst
except (ImportError, ValueError) as missing:
    sys.exit(f"{missing}: install python3-gi and gir1.2-gstreamer-1.0, and use the system's Python")

# Of GObject.ValueArray, for which PyGObject has nothing else.
warnings.simplefilter("ignore", DeprecationWarning)


def plain(value):
    """A value of GStreamer as one of JSON, which has no infinity: None where there is no number, or no time."""
    if isinstance(value, Gst.Structure):
        return fields_of(value)
    if isinstance(value, GObject.ValueArray):
        return [plain(value.get_nth(i)) for i in range(value.n_values)]
    if value == Gst.CLOCK_TIME_NONE or isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def fields_of(structure):
    fields = {}
    for i in range(structure.n_fields()):
        name = structure.nth_field_name(i)
        is_array = structure.get_field_type(name).name == "GstValueArray"
        fields[name] = plain(structure.get_array(name)[1] if is_array else structure.get_value(name))
    return fields


def line_of(name, element, fields):
    """What is written of a message: the element, its kind, and the fields of the message."""
    return {"element": name, "type": element.get_factory().get_name(), **fields}


def elements_of(pipeline):
    """Of a bin, and of the bins in it, from the source on."""
    found, elements = [], pipeline.iterate_recurse()
    while True:
        result, element = elements.next()
        if result != Gst.IteratorResult.OK:
            return found
        found.insert(0, element)  # a bin has the last one first


def ours_in(pipeline):
    try:
        ours = GObject.type_from_name("GstGpuVisionFilter")
    except RuntimeError:  # there is no such type: none has been made
        return []
    return [element for element in elements_of(pipeline) if GObject.type_is_a(element, ours)]
