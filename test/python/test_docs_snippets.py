"""Every Python snippet of the written pages runs as it is printed, after the snippets above it on the same page."""

import importlib.util
import pathlib
import re
import subprocess
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
#: Comments after print(...) that describe the output; all others are the output.
DESCRIPTIONS = {"one launch, 20 bytes per parameter"}
#: Pages whose snippets read the files of the page, by the test that runs them.
OTHERS = {"docs/writing-programs.md": "test_docs_programs.py"}


def snippets(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```$", text, re.M | re.S)


PAGES = [page for page in ("README.md", *sorted(f"docs/{path.name}" for path in (ROOT / "docs").glob("*.md")))
         if page not in OTHERS and snippets(page)]


def test_pages_are_found():
    assert {"README.md", "docs/optim.md", "docs/ot.md", "docs/python.md", "docs/rule.md"} <= set(PAGES)


@pytest.mark.parametrize("page", PAGES)
def test_page(page, tmp_path):
    code = "\n".join(snippets(page))
    if "import torch" in code and importlib.util.find_spec("torch") is None:
        pytest.skip("needs PyTorch: tools/dev setup --torch")
    script = tmp_path / "page.py"
    script.write_text(code, encoding="utf-8")
    run = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    for shown in re.findall(r"^ *print\(.*\)  # (.*)$", code, re.M):
        assert shown in lines or shown in DESCRIPTIONS, (shown, lines)
