"""Kvasir-SEG: images/ and masks/ with equal names, both JPEG, so the masks carry compression noise.

`kavsir_bboxes.json` (the set's own spelling) is not needed: the masks say more than its boxes.
"""

from endotransfer.data.importers.paired_folders import paired_importer

paired_importer(
    "kvasir-seg", images="images", masks="masks",
    summary="1,000 colonoscopy images of polyps with masks",
    url="https://datasets.simula.no/kvasir-seg/", terms="research and education only",
    cite="Jha et al., Kvasir-SEG: a segmented polyp dataset, MMM 2020",
)  # fmt: skip
