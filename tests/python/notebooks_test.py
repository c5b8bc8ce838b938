#!/usr/bin/env python3
"""The notebooks run from the first cell to the last, and are kept without outputs."""
import json
import os
import sys
import unittest

from program import PROGRAM, ROOT, SKIPPED, main

try:
    import ipykernel  # noqa: F401
    import nbformat
    import pandas  # noqa: F401
    from nbclient import NotebookClient
except ImportError as error:
    print(f"skipped: {error}")
    sys.exit(SKIPPED)
if not list((PROGRAM.parent / "module").glob("_native*")):
    print("skipped: the Python module is not built")
    sys.exit(SKIPPED)

FOLDER = ROOT / "docs/notebooks"
SAID = {"first-forecast": "18.4 GB/s over ['gpu0->gpu1']", "what-if": "no such cable", "check-a-log": "gpu0-gpu1 slower 1.97 times"}


class Notebooks(unittest.TestCase):
    def test_run(self):
        os.environ.update(PYTHONPATH=str(ROOT / "python"), PYDEVD_DISABLE_FILE_VALIDATION="1")
        paths = sorted(FOLDER.glob("*.ipynb"))
        self.assertEqual({path.stem for path in paths}, set(SAID))
        for path in paths:
            with self.subTest(path.name):
                book = nbformat.read(path, as_version=4)
                self.assertEqual([cell.outputs for cell in book.cells if cell.cell_type == "code" and cell.outputs], [])
                NotebookClient(book, timeout=120, kernel_name="python3", resources={"metadata": {"path": str(FOLDER)}}).execute()
                self.assertIn(SAID[path.stem], json.dumps([cell.get("outputs") for cell in book.cells]))


if __name__ == "__main__":
    main()
