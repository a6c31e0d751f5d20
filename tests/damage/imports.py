"""All that commands import when they are called, so that a fork has it."""

import importlib
import pkgutil

import gossamer.app
from gossamer.cli import main as cli

for _module in pkgutil.iter_modules(gossamer.app.__path__):
    importlib.import_module(f"gossamer.app.{_module.name}")

assert cli.app is not None
