"""The pages: every link leads to a file and a heading, and every test that a page names exists.

Part of heddle, under the Apache License v2.0 with LLVM Exceptions.
SPDX-License-Identifier: Apache-2.0 WITH LLVM-exception
"""

import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PAGES = sorted(
    [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md"), *(ROOT / "examples").rglob("*.md"),
     *(ROOT / "test").rglob("*.md")]
)


def without_code(text):
    return re.sub(r"```.*?```", "", text, flags=re.S)


def anchor(heading):
    """The anchor that GitHub gives a heading."""
    words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", words).replace(" ", "-")


def anchors(page):
    found = set()
    for heading in re.findall(r"^#+ +(.*)$", without_code(page.read_text(encoding="utf-8")), re.M):
        name, count = anchor(heading), 1
        while name in found:
            name, count = f"{anchor(heading)}-{count}", count + 1
        found.add(name)
    return found


def links(text):
    return re.findall(r"\]\(([^)\s]+)\)", re.sub(r"`[^`\n]*`", "", without_code(text)))


def broken(page):
    """The links of a page that lead nowhere."""
    found = []
    for link in links(page.read_text(encoding="utf-8")):
        if re.match(r"[a-z]+:", link):
            continue
        path, _, fragment = link.partition("#")
        target = (page.parent / path).resolve() if path else page
        if not target.exists() or (fragment and fragment not in anchors(target)):
            found.append(link)
    return found


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links(page):
    assert not broken(page)


def test_a_broken_link_is_found(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# Is `one`, two\n\n[a](#is-one-two) [b](page.md#other) [c](none.md)\n```\n[d](none.md)\n# other\n```\n")
    assert broken(page) == ["page.md#other", "none.md"]


def test_every_page_is_in_the_list():
    """docs/README.md names every page of docs/."""
    index = (ROOT / "docs" / "README.md").read_text(encoding="utf-8")
    named = {link.partition("#")[0] for link in links(index)}
    assert {page.name for page in (ROOT / "docs").glob("*.md")} - {"README.md"} <= named


def test_named_tests_exist():
    named = set()
    for page in PAGES:
        named |= set(re.findall(r"\b(test_\w+\.py)::(test_\w+)", page.read_text(encoding="utf-8")))
    assert len(named) > 10
    sources = {path.name: path.read_text(encoding="utf-8") for path in (ROOT / "test" / "python").glob("test_*.py")}
    missing = [f"{file}::{name}" for file, name in sorted(named) if f"def {name}(" not in sources.get(file, "")]
    assert not missing
