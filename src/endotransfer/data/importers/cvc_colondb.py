"""CVC-ColonDB, the release of 380 frames: images/ and masks/ with equal names.

Which frame belongs to which of the 15 sequences is not published with the files.
"""

from endotransfer.data.importers.paired_folders import paired_importer

paired_importer(
    "cvc-colondb", images="images", masks="masks",
    summary="380 colonoscopy frames of polyps from 15 sequences, with masks",
    url="http://vi.cvc.uab.es/colon-qa/cvccolondb/", terms="research and education; the paper must be cited",
    cite="Bernal et al., Towards automatic polyp detection with a polyp appearance model, 2012",
)  # fmt: skip
