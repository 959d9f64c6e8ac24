"""One file for each system in the tables.  Every module of this folder is loaded, so that a new file is enough."""

from importlib import import_module
from pkgutil import iter_modules

from endotransfer.methods.base import METHODS, Method
from endotransfer.methods.resolve import check_needs, method_config
from endotransfer.methods.task import Needs, Stage, TaskInfo

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["METHODS", "Method", "Needs", "Stage", "TaskInfo", "check_needs", "method_config"]
