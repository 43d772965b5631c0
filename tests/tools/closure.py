# SPDX-License-Identifier: BSD-2-Clause
"""Which files of the project a program is made of, and a hash of what they say.

It looks at the text alone, so that every machine and every build gets the same:
- an #include of C, C++ and CUDA, and an import or the name of a file in Python, leads to that file;
- a header leads to what implements it: the file of its name beside it and, in the library, those of its
  name, alone or with more behind it (kmeans_seed.cpp), in every folder (one stem, many places);
- gpuvision/gpuvision.h, which has everything, leads to those public headers whose names a file uses;
- kernels are compiled with the flags of nvcc that libgpuvision/cuda/meson.build has.

Comments, docstrings and layout do not count in the hash.
"""
import hashlib
import posixpath
import re
from pathlib import Path

from tree import TOP, files

C_FAMILY = {".c", ".h", ".cpp", ".hpp", ".cu", ".cuh"}
IMPLEMENTS = {".c", ".cpp", ".cu"}
# Behind the file's own folder. Not tests/simt/toolkit, which only the emulation has in CUDA's place.
INCLUDE_FOLDERS = ["include", "libgpuvision", "tests", "tests/simt", "libgpuvision/bindings/cpp"]
PYTHON_FOLDERS = ["tests/tools", "examples/python", "libgpuvision/bindings/python", "tests"]
UMBRELLA = "include/gpuvision/gpuvision.h"
# Nothing is computed with them, and each addition to the interface changes them.
UNCOUNTED = {UMBRELLA, "include/gpuvision/version.h", "libgpuvision/core/stems.hpp"}
FLAGS = "libgpuvision/cuda/meson.build"

STRING = r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\''
C_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|(?:u8|[uUL])?R"(?P<end>[^\s()\\]*)\(.*?\)(?P=end)"|' + STRING +
                     r"|\d(?:'?[\w.])*|\w+|\+\+|--|->|<<|>>|&&|\|\||[-+*/%&|^=!<>]=|\n|[^\s\w]", re.S)
LINE_TOKEN = re.compile(r'#[^\n]*|\\\n|\w{0,2}(?:"""(?:\\.|[^\\])*?"""|\'\'\'(?:\\.|[^\\])*?\'\'\'|' + STRING +
                        r")|\w+|\n[ \t]*|[^\s\w]+?", re.S)
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])(.*?)[>"]', re.M)
IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+(\.*)([\w.]*)[ \t]+import[ \t]+([\w, \t]+|\([^)]*\))|"
                    r"import[ \t]+([\w., \t]+))", re.M)
PUBLIC_NAME = re.compile(r"\b(?:gpv|GPV)_\w+")


def c_tokens(text):
    """One line of tokens each, but that directives stay lines of their own."""
    text, out, directive = text.replace("\\\n", " "), [], False
    for token in (found[0] for found in C_TOKEN.finditer(text)):
        if token == "\n":
            if directive:
                out.append(token)
            directive = False
        elif not token.startswith(("//", "/*")):
            directive = directive or token == "#"
            out.append(token)
    return " ".join(out)


def line_tokens(text):
    """Of Python and Meson, where lines and, in Python, what they begin with, mean something."""
    out, depth = ["\n"], 0
    for token in (found[0] for found in LINE_TOKEN.finditer(text)):
        if token.startswith(("#", "\\\n")):
            continue
        if token[0] == "\n":
            if depth:
                continue
            if out[-1][0] == "\n":
                out.pop()  # of an empty line
            elif len(out) > 1 and out[-2][0] == "\n" and out[-1].lstrip("rR")[:3] in ('"""', "'''"):
                del out[-2:]  # a docstring
        depth += (token in "([{") - (token in ")]}")
        out.append(token)
    return " ".join(out).strip()


def meaning(name, data):
    """What of a file's bytes counts."""
    suffix = posixpath.splitext(name)[1]
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return data
    if suffix in C_FAMILY:
        return c_tokens(text).encode()
    if suffix == ".py" or posixpath.basename(name) == "meson.build":
        return line_tokens(text).encode()
    if suffix == ".md":  # tests take blocks from pages, and what comments say of these
        return "\n".join(re.findall(r"^\s*```.*?^\s*```|<!--.*?-->", text, re.M | re.S)).encode()
    if suffix == ".sh" or name == "dev":
        return re.sub(r"^\s*(#.*)?\n", "", text, flags=re.M).encode()
    return data


class Sources:
    """The files of a tree; each is read once."""

    def __init__(self, top=TOP, paths=None):
        self.top = Path(top)
        self.names = {path.relative_to(top).as_posix() for path in (files(new=True) if paths is None else paths)}
        self.folders = {}
        for name in self.names:
            self.folders.setdefault(posixpath.dirname(name), []).append(posixpath.basename(name))
        self.meanings, self.edges = {}, {}
        self.public = {}

    def meaning(self, name):
        if name not in self.meanings:
            self.meanings[name] = meaning(name, (self.top / name).read_bytes())
        return self.meanings[name]

    def text(self, name):
        return (self.top / name).read_text(encoding="utf-8")

    def first(self, folders, name):
        for folder in folders:
            path = posixpath.normpath(posixpath.join(folder, name))
            if path in self.names:
                return [path]
        return []

    def public_names(self):
        """Of each public header, those that it has and what it includes has not."""
        if not self.public:
            headers = [name for name in self.names if name.startswith("include/") and name != UMBRELLA]
            has = {name: set(PUBLIC_NAME.findall(self.meaning(name).decode())) for name in headers}
            below = {name: self.includes(name) for name in headers}
            for name in headers:
                seen, left = set(), list(below[name])
                while left:
                    header = left.pop()
                    if header not in seen:
                        seen.add(header)
                        left += below.get(header, [])
                self.public[name] = has[name].difference(*(has[header] for header in seen - {name}))
        return self.public

    def includes(self, name):
        found = []
        for quote, header in INCLUDE.findall(self.text(name)):
            own = [posixpath.dirname(name)] if quote == '"' else []
            found += self.first(own + INCLUDE_FOLDERS, header)
        return found

    def implementations(self, name):
        folder, file = posixpath.split(name)
        stem, suffix = posixpath.splitext(file)
        if suffix in IMPLEMENTS or suffix not in C_FAMILY or name == UMBRELLA:
            return []
        if not name.startswith(("include/", "libgpuvision/")):
            # A file with a main() is a program of its own.
            found = [f"{folder}/{stem}{ending}" for ending in (".c", ".cpp", "_stub.cpp", ".cu")]
            return [file for file in found if file in self.names and
                    not re.search(r"^int main\(", self.text(file), re.M)]
        # A header of cuda/<stem>/ has a name of that folder alone.
        places = re.escape(folder) if folder.startswith("libgpuvision/cuda/") else "libgpuvision/(cuda/)?[^/]+"
        found = [f"{place}/{file}" for place, inside in self.folders.items() if re.fullmatch(places, place)
                 for file in inside if re.fullmatch(stem + r"(_\w+)?\.(c|cpp|cu)", file)]
        if name == "include/gpuvision/types.h":
            found.append("libgpuvision/api/image.cpp")
        # What is in api/ is the interface, which nothing in the library but itself calls.
        return [file for file in found if name.startswith("include/") == file.startswith("libgpuvision/api/")
                or name.startswith("libgpuvision/api/")]

    def python(self, name):
        text, own, found = self.text(name), posixpath.dirname(name), []
        for dots, module, names, plain in IMPORT.findall(text):
            folders = [posixpath.join(own, "../" * (len(dots) - 1))] if dots else [own, *PYTHON_FOLDERS]
            wanted = [part.split()[0] for part in plain.split(",") if part.strip()] if plain else \
                [module] + [posixpath.join(module, word) for word in re.findall(r"\w+", names)]
            for path in (word.replace(".", "/") for word in wanted if word):
                found += self.first(folders, path + ".py") or self.first(folders, path + "/__init__.py")
        for string in re.findall(STRING, text):
            found += self.first([own, ""] if "/" in string else [own], string[1:-1])
        return found

    def leads_to(self, name):
        if name not in self.edges:
            found = []
            if name.endswith(".py"):
                found = self.python(name)
            elif posixpath.splitext(name)[1] in C_FAMILY:
                if name != UMBRELLA:
                    found = self.includes(name) + self.implementations(name)
                if not name.startswith("include/"):
                    used = set(PUBLIC_NAME.findall(self.meaning(name).decode()))
                    found += [header for header, own in self.public_names().items() if used & own]
                if name.endswith(".cu") and FLAGS in self.names:
                    found.append(FLAGS)
            self.edges[name] = set(found) - {name}
        return self.edges[name]

    def closure(self, roots):
        """roots are names of files and, with a / at their ends, of folders, from the top on."""
        left = [name for root in roots for name in ([root] if root in self.names else
                [name for name in self.names if root.endswith("/") and name.startswith(root)])]
        found = set()
        while left:
            name = left.pop()
            if name not in found:
                found.add(name)
                left += self.leads_to(name)
        # The Python package imports all of its modules: those count whose headers do.
        package = "libgpuvision/bindings/python/gpuvision/"
        headers = {name: f"include/gpuvision/{posixpath.basename(name)[:-3]}.h" for name in found
                   if name.startswith(package)}
        return {name for name in found - UNCOUNTED if name not in headers or
                headers[name] not in self.names or headers[name] in found}

    def digest(self, roots, without=None, begin=""):
        """Of what is made of roots, but for a folder, or None if nothing of these is there."""
        found = sorted(name for name in self.closure(roots) if not without or not name.startswith(without))
        digest = hashlib.sha256(begin.encode())
        for name in found:
            digest.update(name.encode() + b"\0" + self.meaning(name) + b"\0")
        return digest.hexdigest()[:16] if found else None
