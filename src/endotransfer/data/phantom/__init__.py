"""A procedural endoscopy generator: two domains, five lesion kinds, exact masks, the same bytes for the same seed.

It is the data that comes with the project and the bed its tests lie in; it is no substitute for patients.
"""

from endotransfer.data.phantom.domains import DOMAINS
from endotransfer.data.phantom.generate import CLASSES, FINDINGS, VARIANTS, PhantomImage, render
from endotransfer.data.phantom.write import write_phantom

__all__ = ["CLASSES", "DOMAINS", "FINDINGS", "VARIANTS", "PhantomImage", "render", "write_phantom"]
