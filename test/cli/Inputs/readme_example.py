"""readme_example.py README FILE FOLDER: writes the block that follows `<!-- example FILE -->` in README to FOLDER/FILE."""
import os
import re
import sys

readme, name, folder = sys.argv[1:]
text = open(readme, encoding="utf-8").read()
blocks = re.findall(r"<!-- example " + re.escape(name) + r" -->\n```[^\n]*\n(.*?)```\n", text, re.S)
if len(blocks) != 1:
    sys.exit(f"{readme}: expected one example {name}, found {len(blocks)}")
with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
    file.write(blocks[0])
