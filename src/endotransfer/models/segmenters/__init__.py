"""Every kind of network that predicts.  All modules of this folder are loaded, so that each kind is registered."""

from importlib import import_module
from pkgutil import iter_modules

for _module in iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")
