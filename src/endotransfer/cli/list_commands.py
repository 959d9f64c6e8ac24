"""The commands that list what there is: methods, datasets, backbones, recipes.  All but `backbones` answer at once."""

from endotransfer.cli.options import Imports


def methods(imports: Imports = None) -> None:
    """List the methods, one line each."""
    from endotransfer.cli.method_list import list_methods

    for method in list_methods():
        presets = "" if len(method.presets) == 1 else f" [presets: {', '.join(method.presets)}]"
        print(f"{method.name:20} {method.summary}{presets}")


def datasets(imports: Imports = None) -> None:
    """List the public data sets that `data import` reads, and those that need no import, one line each."""
    from endotransfer.data.importers import IMPORTERS
    from endotransfer.data.layouts import LAYOUTS

    for name, importer in IMPORTERS.items():
        print(f"{name:16} {importer.summary}")
    print("\nread as they are published, without import:")
    for name, layout in LAYOUTS.items():
        if layout is not None:
            print(f"{name:16} {layout.summary}")


def backbones(imports: Imports = None) -> None:
    """List the timm backbones of known families, and the head that each gets."""
    from endotransfer.models.backbones.families import backbones_by_head

    for name, head in backbones_by_head().items():
        print(f"{name:48} {head}")


def recipes() -> None:
    """List the built-in recipes for `train`, `benchmark` and `sweep`, one line each."""
    from endotransfer.recipes import recipe_summaries

    for name, summary in recipe_summaries().items():
        print(f"{name:16} {summary}")
