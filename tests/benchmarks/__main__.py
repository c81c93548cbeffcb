"""`make bench`: all comparisons, or those named, as Markdown tables on standard output."""

from __future__ import annotations

import importlib
import pkgutil
import sys

import tests.benchmarks

MODULES = pkgutil.iter_modules(tests.benchmarks.__path__)
PARTS = sorted({module.name for module in MODULES} - {"harness", "__main__"})

for name in sys.argv[1:] or PARTS:
    importlib.import_module(f"tests.benchmarks.{name}").main()
