"""Models by name: those that ship with the package, one folder each, and those of a hub.

To ship another, put the folder that `endotransfer push` writes beside `polyp/`: its name is the model's.
"""

from endotransfer.pretrained.locate_model import locate_model, shown_name
from endotransfer.pretrained.shipped_models import ShippedModel, shipped_models

__all__ = ["ShippedModel", "locate_model", "shipped_models", "shown_name"]
