"""Look an equation up: where it lives, what checks it. Run it in the project's folder."""

from core.lecture.equations import equations, search

WORDS = ""

found = search(WORDS)
print(f"{len(found)} of {len(equations())} equations")
for entry in found:
    print(f"{entry.document:20} {entry.section:28} {entry.title['en']:60} {entry.code[0]}")
    print(f"    {entry.latex}\n    checked by {entry.test}, against {entry.against['en']}; {' '.join(entry.decisions)}")
