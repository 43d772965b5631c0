# SPDX-License-Identifier: BSD-2-Clause
"""Sees to it that no fenced block of any page goes untested, but for those of text.

A block is run or compiled by a test, which BY_TEST names; or it is an excerpt of C or C++, which is compiled
here, with what EXCERPTS has around it; or its commands are looked at here, as far as that goes without
running them: words of ./dev, options, targets, tests and suites of Meson, files of the project. Else it says
<!-- not run: why --> right above. What prose calls `meson test …` is looked at likewise.

usage: blocks.py BUILD-FOLDER CC... -- CXX...
"""
import json
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import markdown
from markdown import TOP

BY_TEST = {
    ("README.md", "c"): "docs-readme-c",
    ("docs/examples.md", "console"): "docs-console",
    ("README.md", "python"): "bindings-python",
    ("docs/bindings.md", "console"): "docs-console",
    ("docs/bindings.md", "cpp"): "bindings-cpp-page",
    ("docs/bindings.md", "go"): "bindings-go",
    ("docs/bindings.md", "python"): "bindings-python",
    ("docs/bindings.md", "rust"): "bindings-rust",
    ("docs/pipelines.md", "python"): "docs-python",
    **{("docs/guide.md", language): "docs-guide"
       for language in ("c", "cmake", "make", "meson", "python", "sh")},
}

# Before and behind an excerpt, and what the compiler is told.
EXCERPTS = {
    ("docs/abi.md", "c"): ("""#include <gpuvision/gpuvision.h>
#include <stdio.h>
#include <stdlib.h>
#define gpv_x gpv_erode
#define gpv_x_create gpv_erode_create
#define gpv_x_destroy gpv_erode_destroy
extern gpv_context *context;
extern gpv_stream stream;
extern gpv_log_fn my_log;
extern void *op;
extern int32_t queries, trains, count;
extern gpv_erode_params params;
extern gpv_image image, src, dst, labels, terminals, links, mask, seeds;
extern const gpv_image *costs[];
extern gpv_buffer components, centroids, counts, keypoints, descriptors, query, train, pairs;
extern gpv_rect rect;
extern struct any_result result;
void excerpt(void) {
""", "}\n", ["-Wno-unused", "-Wno-incompatible-pointer-types"]),
    ("docs/adding-an-algorithm.md", "cpp"): ("""#include "cuda/run/operator.cuh"
struct gpv_invert_params { int number; };
namespace gpv {
struct InvertRun { Image src, dst; };
struct Invert : Operator {
    virtual void set_params(const gpv_invert_params &params) = 0;
    virtual void prepare(const Image &like) = 0;
    virtual void run(Stream stream, const InvertRun &run) = 0;
};
}
namespace gpv::cuda {
""", "}\n", ["-std=c++20", f"-I{TOP / 'libgpuvision'}", f"-I{TOP / 'tests/simt'}",
             f"-I{TOP / 'tests/simt/toolkit'}", "-Wno-unknown-pragmas", "-Wno-unused",
             "-Wno-missing-field-initializers"]),
    ("docs/elements/gpusift.md", "c"): ("""#include <gpuvision/gpuvision.h>
#include <gst/gst.h>
""", "", ["gstreamer-1.0", "-Wno-unused-function"]),
    ("docs/pipelines.md", "c"): ("""#include <gst/gst.h>
extern GstPad *pad;
extern GstElement *other_pipeline;
void excerpt(void) {
""", "}\n", ["gstreamer-1.0"]),
}

# A part of a file that a test runs, here by ./dev test.
PARTS = {("docs/install.md", "meson"): "examples/wrap/meson.build"}

# Of what not every build has; commands in prose may name tests of all that.
PARTLY = {"cuda-contexts-simt": "CUDA with GStreamer 1.22", "endurance-cycles-leaks": "GStreamer's tracers",
          "transfers-decoder": "CUPTI", "valgrind-erode": "valgrind"}

READ = (".c", ".h", ".cpp", ".hpp", ".py")  # what a variable of the environment may be read in


class Fault(Exception):
    pass


def require(condition, what):
    if not condition:
        raise Fault(what)


class Project:
    """What commands may name."""

    def __init__(self, build):
        def read(name):
            return json.loads(Path(build, "meson-info", f"intro-{name}.json").read_text(encoding="utf-8"))

        self.targets = {str(Path(path).relative_to(Path(build).resolve()))
                        for target in read("targets") for path in target["filename"]
                        if Path(path).is_relative_to(Path(build).resolve())}
        tests = read("tests")
        self.tests = {test["name"] for test in tests}
        self.suites = {suite.split(":")[-1] for test in tests for suite in test["suite"]}
        self.options = {option["name"] for option in read("buildoptions")}
        self.packages = (TOP / "tests/tools/dev/package_lists.sh").read_text(encoding="utf-8")
        said = subprocess.run([TOP / "dev", "help"], check=True, text=True, capture_output=True).stdout
        self.usage = dict(re.findall(r"^\./dev (\w+)(.*)$", said, re.M))
        self.meson = "\n".join(path.read_text(encoding="utf-8") for folder in ("docs", "tests")
                               for path in sorted((TOP / folder).rglob("meson.build")))
        self.variables = {variable for path in (TOP / "tests").rglob("*") if path.suffix in READ
                          for variable in re.findall(r"""["'](GPV_\w+)["']""", path.read_text(encoding="utf-8"))}
        # Made where something is installed that this machine may lack.
        self.optional = {f"examples/{name}" for name in ("appsink", "sift-throughput")}


def check_dev(project, words):
    """Words are commands, alternatives of ./dev help, placeholders, or follow an option that takes one."""
    command, *words = words
    require(command in project.usage, f"./dev help has no '{command}'")
    usage = project.usage[command]
    takes = False
    for word in (word.strip("[]") for word in words):
        option = re.search(rf"(?<![\w-]){re.escape(word)}(?![\w-])( [A-Z])?", usage)
        require(takes or option or word.isupper(), f"./dev help has no '{word}' of {command}")
        takes = option and option[1]


def check_meson(project, words):
    command, *words = words
    require(command in ("setup", "test", "devenv", "compile"), f"no rule for meson {command}")
    words = iter(words)
    for word in words:
        if word == "--suite":
            suite = next(words)
            require(suite in project.suites, f"there is no suite '{suite}'")
        elif word in ("-C", "-w", "--num-processes"):
            next(words)
        elif word.startswith("-D"):
            option = word[2:].partition("=")[0]
            require(option in project.options, f"there is no option '{option}'")
        elif word.startswith("-"):
            require(word in ("-v", "--reconfigure"), f"no rule for {word} of meson {command}")
        elif command == "test":
            require(word in project.tests, f"there is no test '{word}'")
        elif command == "devenv":
            check_command(project, [word, *words])
        elif command == "setup":
            require(word.startswith("build"), f"no rule for the folder {word}")


def check_ninja(project, words):
    require(words[0] == "-C" and words[1].startswith("build"), "ninja without -C build")
    for word in words[2:]:
        require(word in ("install", "test") or word in project.targets, f"there is no target '{word}'")


def check_packages(project, words):
    for word in words[words.index("install") + 1:]:
        require(re.search(rf"(?<![\w.-]){re.escape(word)}(?![\w.-])", project.packages),
                f"./dev does not know the package {word}")


def check_element(_, words):
    require((TOP / "docs/elements" / f"{words[0]}.md").exists(), f"there is no element '{words[0]}'")


def check_compiler(_, words):
    require(words[-1] == "$FLAGS", "nothing is compiled against the library")


def check_variable(_, words):
    """A program that is installed is found by these, which installed.py sets."""
    source = (TOP / "tests/examples/installed.py").read_text(encoding="utf-8")
    variable = words[0].partition("=")[0]
    require(f'"{variable}"' in source or f"{variable}=" in source, f"no test sets {variable}")


def check_part(block):
    """Of the file that the page shows a part of."""
    require(block.text in (TOP / PARTS[block.page, block.language]).read_text(encoding="utf-8"),
            f"is not in {PARTS[block.page, block.language]}")


def check_files(_, words):
    """Words that are paths of the project have been looked at already."""


def check_python(_, words):
    """Its program is a file of the project; archive.py also says what it takes."""
    if words[0] == "examples/archive/archive.py":
        said = subprocess.run([sys.executable, TOP / words[0], words[1], "--help"], text=True, capture_output=True)
        require(said.returncode == 0, f"archive.py has no command '{words[1]}'")
        for word in words[2:]:
            require(not word.startswith("-") or word in said.stdout, f"archive.py {words[1]} has no {word}")


RULES = {"./dev": check_dev, "meson": check_meson, "ninja": check_ninja, "apt-get": check_packages,
         "gst-inspect-1.0": check_element, "cc": check_compiler, "c++": check_compiler,
         "export": check_variable,
         **dict.fromkeys(("bash", "cargo", "cd", "env/bin/pip", "go", "ray-env/bin/pip", "xdg-open"), check_files),
         **dict.fromkeys(("python3", "ray-env/bin/python"), check_python)}


def check_command(project, words):
    while words and re.match(r"[A-Z_]+=|sudo$", words[0]):
        variable = words.pop(0).partition("=")[0]
        require(not variable.startswith("GPV_") or variable in project.variables,
                f"no test reads {variable}")
    program, *rest = words
    for word in words:
        if re.match(r"(\./)?(docs|examples|gst|include|libgpuvision|tests)/", word):
            require((TOP / word).exists(), f"there is no {word}")
    if match := re.fullmatch(r"build[\w-]*/(.+)", program):
        require(match[1] in project.targets | project.optional, f"there is no target {match[1]}")
    elif program == "tests/tools/in_root.sh":
        check_command(project, rest[1:])
    elif not program.startswith("tests/"):
        require(program in RULES, f"no rule for the command {program}")
        RULES[program](project, rest)


def check_sh(project, block):
    commands = 0
    for line in block.commands():
        commands += 1
        if "gst-launch-1.0" in line:  # test docs-pipelines runs it
            continue
        line = line.replace("$(pkg-config --cflags --libs gpuvision)", "'$FLAGS'")
        lexer = shlex.shlex(line, posix=True, punctuation_chars="();&|")
        lexer.whitespace_split = True
        words = []
        for word in [*lexer, ";"]:
            if not set(word) <= set("();&|"):
                words.append(word)
            elif words:
                check_command(project, words)
                words = []
    require(commands, "a block without a command")


def check_excerpt(block, cc, cxx):
    before, behind, flags = EXCERPTS[block.page, block.language]
    packages = [flag for flag in flags if not flag.startswith("-")]
    if packages:
        found = subprocess.run(["pkg-config", "--cflags", *packages], text=True, capture_output=True)
        if found.returncode:
            print(f"{block}: not compiled: there is no {' '.join(packages)}")
            return
        flags = [*found.stdout.split(), *(flag for flag in flags if flag.startswith("-"))]
    compiler, suffix = (cc, ".c") if block.language == "c" else (cxx, ".cpp")
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, f"excerpt{suffix}")
        source.write_text(f'{before}#line {block.line} "{block.page}"\n{block.text}{behind}')
        done = subprocess.run([*compiler, "-fsyntax-only", "-Wall", "-Wextra", "-Werror",
                               "-Wno-unused-result", f"-I{TOP / 'include'}", *flags, source], text=True,
                              capture_output=True)
    require(done.returncode == 0, f"does not compile:\n{done.stderr}")


def check_prose(project, pages):
    """How many commands there are, and what is wrong with them."""
    commands, faults = 0, []
    for page in pages:
        text = re.sub(r"^```.*?^```", lambda block: "\n" * block[0].count("\n"),
                      page.read_text(encoding="utf-8"), flags=re.M | re.S)
        for command in re.finditer(r"`((?:GPV_\w+=\S+ )*meson test [^`]+)`", text):
            commands += 1
            try:
                check_command(project, shlex.split(command[1]))
            except Fault as fault:
                line = text.count("\n", 0, command.start()) + 1
                faults.append(f"{page.relative_to(TOP)}:{line}: {command[1]}: {fault}")
    return commands, faults


def check(project, block, cc, cxx):
    key = block.page, block.language
    if block.not_run or block.language == "text":
        return
    if key in BY_TEST:
        require(f"test('{BY_TEST[key]}'" in project.meson, f"there is no test {BY_TEST[key]}")
    elif key in EXCERPTS:
        check_excerpt(block, cc, cxx)
    elif key in PARTS:
        check_part(block)
    elif block.language == "sh":
        check_sh(project, block)
    else:
        raise Fault(f"a block of '{block.language}', which no test looks at")


def main():
    build, *compilers = sys.argv[1:]
    middle = compilers.index("--")
    cc, cxx = compilers[:middle], compilers[middle + 1:]
    project = Project(build)
    blocks = [block for page in markdown.pages() for block in markdown.blocks(page)]
    faults = 0
    for block in blocks:
        try:
            check(project, block, cc, cxx)
        except Fault as fault:
            faults += 1
            print(f"{block}: {fault}")
    lacks = [what for test, what in PARTLY.items() if test not in project.tests]
    if lacks:
        print(f"commands in prose are not looked at: this build lacks {', '.join(lacks)}")
    else:
        commands, wrong = check_prose(project, markdown.pages())
        require(commands > 0, "there is no command in prose any more")
        faults += len(wrong)
        print(*wrong, f"{commands} commands in prose", sep="\n")
    seen = {(block.page, block.language) for block in blocks}
    for page, language in [*BY_TEST, *EXCERPTS, *PARTS]:
        if (page, language) not in seen:
            faults += 1
            print(f"{page}: there is no block of {language} any more")
    print(f"{len(blocks)} blocks, {sum(block.not_run for block in blocks)} of them not run, {faults} faults")
    sys.exit(bool(faults))


main()
