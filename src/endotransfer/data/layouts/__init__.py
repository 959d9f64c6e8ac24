"""Data sets read as they are published, without conversion.  A new layout is one new file in this folder."""

import pkgutil
from importlib import import_module

from endotransfer.data.layouts.layout import LAYOUTS, Layout, is_data_folder, read_layout

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["LAYOUTS", "Layout", "is_data_folder", "read_layout"]
