"""One file for each system in the tables.  Every module of this folder is loaded, so that a new file is enough."""

from importlib import import_module
from pkgutil import iter_modules

from endotransfer.methods.base import METHODS, Method, Stage, TaskInfo, method_config

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["METHODS", "Method", "Stage", "TaskInfo", "method_config"]
