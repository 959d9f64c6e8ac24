"""A procedural generator of endoscopy-like images: two domains, five kinds of lesion, exact masks, reproducible bytes.

It gives the project data to start and to test with; it is no substitute for images of patients.
"""

from endotransfer.data.phantom.domains import DOMAINS
from endotransfer.data.phantom.generate import CLASSES, FINDINGS, VARIANTS, PhantomImage, render
from endotransfer.data.phantom.write import write_phantom

__all__ = ["CLASSES", "DOMAINS", "FINDINGS", "VARIANTS", "PhantomImage", "render", "write_phantom"]
