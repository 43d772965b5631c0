# SPDX-License-Identifier: BSD-2-Clause
"""Makes the documentation as a site: the pages by MkDocs, the reference of the C API by Doxygen.

usage: site.py SOURCES DOXYFILE OUT

SOURCES is the project, OUT the folder that is made anew; its index.html is the README. The site has
the layout of the project, so that links need no change: a source file that a page links to is a page
of the site, too, with its text, and a folder one that names what is in it. Ends with an error where
Doxygen or MkDocs warns, where a symbol of the C API has no description, and where a link leads nowhere.
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

LINK = re.compile(r"(?<=\]\()([^)\s#:]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
LANGUAGES = {".c": "c", ".h": "c", ".cpp": "cpp", ".hpp": "cpp", ".cu": "cuda", ".cuh": "cuda",
             ".py": "python", ".rs": "rust", ".go": "go"}
PICTURES = {".png", ".jpg", ".svg"}
BUILT = {"build", "target"}  # beside the sources of Python and Rust
API = "api"
PAGE_OF_HEADER = re.compile(r"\b(docs/\w+/\w+)\.md\b")  # as headers name them


def run(*command, **variables):
    done = subprocess.run([str(word) for word in command], text=True, capture_output=True,
                          env={**os.environ, **variables})
    if done.returncode:
        sys.exit(f"{' '.join(map(str, command))}:\n{done.stdout}{done.stderr}")


# ---- the reference of the C API ----

def description(symbol):
    return "".join(text for part in ("briefdescription", "detaileddescription")
                   for text in symbol.find(part).itertext()).strip()


def undocumented(xml_folder, exported):
    """Doxygen warns of most of it; this looks at what it has made of each symbol."""
    names, faults = set(), []
    for path in [*sorted(xml_folder.glob("*_8h.xml")), *sorted(xml_folder.glob("struct*.xml"))]:
        compound = xml.etree.ElementTree.parse(path).getroot().find("compounddef")
        for symbol in [compound, *compound.iter("memberdef"), *compound.iter("enumvalue")]:
            name = symbol.findtext("compoundname") or symbol.findtext("name")
            names.add(name)
            # An enum without a name ("", or "@" and a number) is described at the type of its values.
            if name and not name.startswith("@") and not description(symbol):
                faults.append(f"{path.stem}: {name} has no description")
    return faults + [f"{name} is not in the reference" for name in sorted(exported - names)]


def make_api(sources, doxyfile, folder, work):
    text = Path(doxyfile).read_text(encoding="utf-8")
    mine = work / "Doxyfile"
    mine.write_text(f"{text}\nOUTPUT_DIRECTORY = {work}\nHTML_OUTPUT = {folder}\nXML_OUTPUT = xml\n")
    run("doxygen", mine)
    for page in folder.glob("*.html"):
        text = page.read_text(encoding="utf-8")
        page.write_text(PAGE_OF_HEADER.sub(r'<a href="../\1.html">\1.md</a>', text), encoding="utf-8")
    exported = set(re.findall(r"\bgpv_\w+", (sources / "libgpuvision/libgpuvision.map").read_text()))
    assert exported, "no symbol found: this check has gone blind"
    return undocumented(work / "xml", exported)


# ---- the pages ----

def page_of_source(path, name):
    language = LANGUAGES.get(path.suffix, "text")
    return f"# {name}\n\n~~~~~~{language}\n{path.read_text(encoding='utf-8').rstrip()}\n~~~~~~\n"


def page_of_folder(path, name):
    names = sorted(f"{entry.name}/" if entry.is_dir() else entry.name for entry in path.iterdir()
                   if not entry.name.startswith((".", "_")) and entry.name not in BUILT)
    return f"# {name}\n\n" + "".join(f"- `{entry}`\n" for entry in names)


class Pages:
    """Copies pages, with all that they link to."""

    def __init__(self, sources, folder):
        self.sources, self.folder, self.done = sources, folder, set()

    def add(self, path):
        if path in self.done:
            return
        self.done.add(path)
        name = path.relative_to(self.sources)
        if path.suffix == ".md":
            self.write(name, self.with_links(path))
        elif path.suffix in PICTURES:
            self.write(name, path.read_bytes())
        elif path.is_dir():
            self.write(self.name_of(path), page_of_folder(path, name))
        else:
            self.write(self.name_of(path), page_of_source(path, name))

    def write(self, name, content):
        target = self.folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)

    def name_of(self, path):
        """Of the page: the headers are in the reference."""
        name = path.relative_to(self.sources)
        if path == self.sources / "include/gpuvision":
            return Path(API, "index.html")
        if path.parent == self.sources / "include/gpuvision":
            return Path(API, path.name.replace(".", "_8") + ".html")
        return name if path.suffix == ".md" or path.suffix in PICTURES else Path(f"{name}.md")

    def with_links(self, page):
        text, start = page.read_text(encoding="utf-8"), 0
        parts = []
        for fence in [*FENCE.finditer(text), None]:
            prose = text[start:fence.start() if fence else len(text)]
            parts += [LINK.sub(lambda link: self.link(page, link), prose), fence[0] if fence else ""]
            start = fence.end() if fence else start
        return "".join(parts)

    def link(self, page, link):
        target = (page.parent / link[1]).resolve()
        if not target.exists():
            sys.exit(f"{page}: {link[1]}: there is no such file")
        name = self.name_of(target)
        if name.parts[0] != API:
            self.add(target)
        return os.path.relpath(name, page.parent.relative_to(self.sources)) + (link[2] or "")


# ---- the links of what came out ----

class Links(HTMLParser):
    def __init__(self, text):
        super().__init__()
        self.names, self.links = set(), []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for key, value in attrs:
            if key in ("id", "name"):
                self.names.add(value)
            if value and key in ("href", "src"):
                self.links.append((tag, value))


def broken_links(site):
    pages = {path: Links(path.read_text(encoding="utf-8")) for path in sorted(site.rglob("*.html"))}
    faults = []
    for path, page in pages.items():
        for tag, link in page.links:
            url = urlsplit(link)
            if url.scheme in ("http", "https") and tag != "a":
                faults.append(f"{path.relative_to(site)}: fetches {link}")
            if url.scheme or url.netloc:
                continue
            target = (path.parent / unquote(url.path)).resolve() if url.path else path
            if not target.is_file():
                faults.append(f"{path.relative_to(site)}: {link}: there is no such file")
            # Doxygen 1.17 leads to the letters of lists, of which short ones have none.
            elif url.fragment and not (path.match("api/globals*.html") and url.fragment.startswith("index_")) \
                    and target in pages and unquote(url.fragment) not in pages[target].names:
                faults.append(f"{path.relative_to(site)}: {link}: there is no such heading")
    assert len(pages) > 50, f"only {len(pages)} pages: this check has gone blind"
    return sorted(set(faults)), len(pages), sum(len(page.links) for page in pages.values())


def main():
    sources, doxyfile, out = (Path(word).resolve() for word in sys.argv[1:])
    if sources.is_relative_to(out):
        sys.exit(f"{out} would be made anew, with the sources in it")
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        pages = Pages(sources, work / "pages")
        (work / "pages").mkdir()
        faults = make_api(sources, doxyfile, work / "pages" / API, work)
        menu = re.sub(r"^( *- )(\S+)\*\.md\n", lambda folder: "".join(
            f"{folder[1]}{page.relative_to(sources)}\n" for page in sorted((sources / folder[2]).glob("*.md"))),
            (sources / "docs/mkdocs.yml").read_text(encoding="utf-8"), flags=re.M)
        (work / "mkdocs.yml").write_text(menu, encoding="utf-8")
        for page in [*sources.glob("*.md"), *(sources / "docs").rglob("*.md")]:
            if page.name == "doxygen.md":  # the first page of the reference
                continue
            pages.add(page)
            name = str(page.relative_to(sources))
            if name not in menu.split():
                faults.append(f"{name} is not in docs/mkdocs.yml")
        shutil.copy(sources / "docs/site.css", work / "pages")
        shutil.rmtree(out, ignore_errors=True)
        run("mkdocs", "build", "--strict", "--quiet", "--config-file", work / "mkdocs.yml",
            "--site-dir", out)
    # Ubuntu 24.04's MkDocs names this one and does not bring it, but depends on the package that has it.
    jquery = "js/jquery-3.6.0.min.js"
    if jquery in (out / "index.html").read_text(encoding="utf-8") and not (out / jquery).exists():
        shutil.copy("/usr/share/javascript/jquery/jquery.min.js", out / jquery)
    for name in ("404.html", "sitemap.xml", "sitemap.xml.gz"):  # for servers, and the last with a date
        (out / name).unlink(missing_ok=True)
    broken, count, links = broken_links(out)
    faults += broken
    print("\n".join(faults) or f"{out / 'index.html'}: {count} pages, {links} links")
    sys.exit(bool(faults))


main()
