"""Programs that are wrong, each in one way, through the tool, the C interface and the command line of the package.

Each error has the line and column of the text, its own words, and the forms that are allowed. Nothing is compiled.
"""

import pathlib
import re
import subprocess

import pytest

import heddle
from heddle.__main__ import main

HERE = pathlib.Path(__file__).resolve().parent
TOOL = pathlib.Path(heddle.doctor()["library"]["path"]).parents[1] / "bin" / "heddle"
# Words for authors of compilers, which a program does not have.
TERMS = re.compile(
    r"\b(pass|passes|kernel|SSA|signless|dialects?|terminator|regions?|block argument|cast incompatible|sweep|alias id)\b"
    r"|::|<unknown>|<<UNKNOWN SSA VALUE>>"
)


def programs():
    types, *sections = (HERE / "wrong_programs.txt").read_text().split("//--- ")
    types = types[types.index("!list") :]
    for section in sections:
        name, error, body = section.split("\n", 2)
        place, message = error.removeprefix("// ").split(": ", 1)
        yield pytest.param(types + body, place, message, id=name)


def test_there_are_many():
    assert len(list(programs())) >= 140


@pytest.mark.parametrize(("text", "place", "message"), list(programs()))
def test_wrong_program(text, place, message, tmp_path, monkeypatch, capsys):
    assert not TERMS.search(message), "words that the program does not have"
    file = tmp_path / "wrong.mlir"
    file.write_text(text)
    line = text.splitlines()[int(place.split(":")[0]) - 1]
    expected = f"wrong.mlir:{place}: error: {message}\n{line}\n"
    if TOOL.exists():
        tool = subprocess.run([TOOL, "emit", "wrong.mlir"], cwd=tmp_path, capture_output=True, text=True)
        assert (tool.returncode, tool.stdout) == (2, "")
        assert tool.stderr.startswith("heddle: error: " + expected)
        # Further errors and notes.
        shown = [found for found in tool.stderr.splitlines() if re.search(r"^\S+: (error|note): ", found)]
        assert not any(TERMS.search(found) for found in shown), shown
    for target in ("cuda", "cpu"):
        with pytest.raises(heddle.BadInput) as raised:
            heddle.compile(text, target=target, arch="sm_90" if target == "cuda" else None)
        assert str(raised.value).startswith(f"program:{place}: error: {message}\n{line}\n")
    monkeypatch.chdir(tmp_path)
    assert main(["emit", "wrong.mlir"]) == 2
    found = capsys.readouterr()
    assert found.out == ""
    assert found.err.startswith("heddle: error: " + expected)
