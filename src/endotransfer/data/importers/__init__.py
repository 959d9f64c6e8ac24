"""Importers from the published layouts of public sets to ours.  A new set is one new file in this folder."""

import pkgutil
from importlib import import_module

from endotransfer.data.importers.importer import IMPORTERS, Importer, import_dataset
from endotransfer.data.importers.records import ImportReport

for _module in pkgutil.iter_modules(__path__):
    import_module(f"{__name__}.{_module.name}")

__all__ = ["IMPORTERS", "ImportReport", "Importer", "import_dataset"]
