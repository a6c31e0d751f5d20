"""Imports all modules that commands import when they are called, so that a fork has them."""

import importlib
import pkgutil

from gossamer import cli
from gossamer.cli import main

for _module in pkgutil.iter_modules(cli.__path__):
    importlib.import_module(f"{cli.__name__}.{_module.name}")

assert main.app is not None
