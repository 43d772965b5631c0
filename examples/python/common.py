# SPDX-License-Identifier: BSD-2-Clause
"""What the examples share: the library through ctypes, arguments, and pictures in files."""
import argparse
import ctypes as c
import re
import sys

OK, TOO_SMALL = 0, -6
GRAY8, RGB8 = 1, 4


class Image(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("format", c.c_uint32), ("memory", c.c_uint32),
                ("device", c.c_int32), ("width", c.c_int32), ("height", c.c_int32),
                ("color_matrix", c.c_uint32), ("color_range", c.c_uint32),
                ("data", c.c_void_p * 8), ("stride", c.c_int64 * 8)]


class Buffer(c.Structure):
    _fields_ = [("struct_size", c.c_uint32), ("memory", c.c_uint32), ("device", c.c_int32),
                ("reserved", c.c_uint32), ("data", c.c_void_p), ("size", c.c_uint64)]


try:
    gpv = c.CDLL("libgpuvision.so.1")
except OSError:
    sys.exit("libgpuvision.so.1 not found: install it, or run inside meson devenv -C build")
gpv.gpv_image_wrap.restype = c.c_int64
gpv.gpv_image_wrap.argtypes = [c.POINTER(Image), c.c_uint32, c.c_uint32, c.c_int32, c.c_int32,
                               c.c_void_p, c.c_int64]
for text in gpv.gpv_status_string, gpv.gpv_context_error, gpv.gpv_context_device_name:
    text.restype = c.c_char_p


def wrap(pixels, fmt, width, height):
    """A view of a bytearray, which it keeps alive."""
    image = Image()
    data = (c.c_uint8 * len(pixels)).from_buffer(pixels)
    size = gpv.gpv_image_wrap(image, c.sizeof(image), fmt, width, height, c.addressof(data), 0)
    if size != len(pixels):
        raise ValueError(f"{width} x {height} pixels do not fill {len(pixels)} bytes")
    image.pixels = data
    return image


def buffer_of(array):
    """A view of an array of ctypes, which it keeps alive."""
    buffer = Buffer()
    gpv.gpv_buffer_init(c.byref(buffer), c.sizeof(buffer))
    buffer.data, buffer.size, buffer.array = c.addressof(array), c.sizeof(array), array
    return buffer


class Context:
    """A context of the library, and the operators that are made in it."""

    def __enter__(self):
        self.handle, self.operators = c.c_void_p(), []
        self.check(gpv.gpv_context_create(None, c.byref(self.handle)))
        return self

    def __exit__(self, *_):
        for destroy, operator in self.operators:
            destroy(c.byref(operator))
        gpv.gpv_context_destroy(c.byref(self.handle))

    def check(self, status):
        if status != OK:
            why = gpv.gpv_context_error(self.handle) if self.handle else b"no context"
            raise RuntimeError(f"{gpv.gpv_status_string(status).decode()}: {why.decode()}")

    def create(self, stem, params):
        """gpv_<stem>_create()"""
        operator = c.c_void_p()
        self.check(getattr(gpv, f"gpv_{stem}_create")(self.handle, c.byref(params),
                                                      c.byref(operator)))
        self.operators.append((getattr(gpv, f"gpv_{stem}_destroy"), operator))
        return operator

    def device_name(self):
        return gpv.gpv_context_device_name(self.handle).decode()


def whole_number(most):
    """A type of argparse."""
    def parse(text):
        if not re.fullmatch(r"[0-9]+", text) or int(text) > most:
            raise argparse.ArgumentTypeError(f"'{text}' must be a whole number from 0 to {most}")
        return int(text)
    return parse


def read_picture(path):
    """(pixels, format, width, height) of a binary PGM or PPM of 8 bits."""
    with open(path, "rb") as file:
        picture = file.read()
    header = re.match(rb"P([56])\s(\d+)\s(\d+)\s255\s", picture)
    if not header:
        sys.exit(f"{path}: not a binary PGM or PPM of 8 bits without comments")
    return (bytearray(picture[header.end():]), RGB8 if header[1] == b"6" else GRAY8, int(header[2]),
            int(header[3]))


def write_picture(path, pixels, fmt, width, height):
    with open(path, "wb") as file:
        file.write(b"P%d\n%d %d\n255\n" % (6 if fmt == RGB8 else 5, width, height) + pixels)


def to_rgb(pixels, fmt):
    return bytearray(pixels if fmt == RGB8 else (level for level in pixels for _ in range(3)))
