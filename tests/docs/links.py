# SPDX-License-Identifier: BSD-2-Clause
"""Fails when a page of the project links to a file or a heading that is not there.

Addresses on the web are not looked up.
"""
import re
import sys

import markdown
from markdown import TOP

FENCE = re.compile(r"^(```|~~~).*?^\1", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)|<(?:img|a)\s[^>]*?(?:src|href)=\"([^\"]+)\"")
# But for the first page of the reference, whose links are of the site: docs/site.py looks at them.
PAGES = [page for page in markdown.pages() if page != TOP / "docs/doxygen.md"]


def prose(page):
    return FENCE.sub("", page.read_text(encoding="utf-8"))


def anchors(page):
    """As the forges make them of headings: lower case, words joined by hyphens."""
    headings = re.findall(r"^#+ +(.*?)\s*$", prose(page), re.M)
    return {re.sub(r"[^\w\- ]", "", heading).strip().lower().replace(" ", "-") for heading in headings}


def fault(page, link):
    path, _, anchor = link.partition("#")
    target = (page.parent / path).resolve() if path else page
    if path.startswith("/") or TOP not in [target, *target.parents]:
        return "leads out of the project"
    if not target.exists():
        return "there is no such file"
    if anchor and anchor not in anchors(target):
        return "there is no such heading"
    return None


faults, count = [], 0
for page in PAGES:
    for link in (a or b for a, b in LINK.findall(prose(page))):
        if re.match(r"[a-z]+:", link):
            continue
        count += 1
        why = fault(page, link)
        if why:
            faults.append(f"{page.relative_to(TOP)}: {link}: {why}")
print("\n".join(faults) or f"{len(PAGES)} pages, {count} links")
if not count:
    sys.exit("no link found: this test has gone blind")
sys.exit(bool(faults))
