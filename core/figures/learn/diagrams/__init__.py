"""Block diagrams of the lecture, one module per lesson, with the page's numbers on their wires; drawn as SVG by `drawing`."""
