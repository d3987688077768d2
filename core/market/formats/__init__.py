"""Order-book files of other programs: recognised by their content, inspected, converted to recordings (docs/recordings.md)."""
