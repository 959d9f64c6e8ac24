"""The commands that list what there is: methods, datasets, backbones, recipes.  All but `backbones` answer at once."""

from endotransfer.cli.options import Imports


def methods(imports: Imports = None) -> None:
    """List the methods, one line each."""
    from endotransfer.cli.method_list import list_methods

    for method in list_methods():
        presets = "" if len(method.presets) == 1 else f" [presets: {', '.join(method.presets)}]"
        print(f"{method.name:20} {method.summary}{presets}")


def models() -> None:
    """List the models that ship with the package: terms, what they were trained on, figures, size."""
    from endotransfer.pretrained import shipped_models
    from endotransfer.pretrained.shipped_models import CARD

    for model in shipped_models():
        print(f"{model.name:16} {model.megabytes:.1f} MB, terms: {model.terms}; research use only")
        print(f"{'':16} trained on {', '.join(model.trained_on)}")
        for line in model.measured:
            print(f"{'':16} measured on {line}")
        print(f"{'':16} {model.folder / CARD}")


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
