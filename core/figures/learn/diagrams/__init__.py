"""Block diagrams: blocks and wires as data, with the page's numbers on the wires, drawn as SVG by `drawing`."""
