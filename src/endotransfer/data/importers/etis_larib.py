"""ETIS-Larib Polyp DB: ETIS-LaribPolypDB/1.tif and 'Ground Truth'/p1.tif.

Which frame belongs to which of the 34 sequences is not published with the files.
"""

from endotransfer.data.importers.paired_folders import paired_importer

paired_importer(
    "etis-larib", images="ETIS-LaribPolypDB", masks="Ground Truth", mask_prefix="p",
    summary="196 colonoscopy frames of polyps from 34 sequences, with masks",
    url="https://polyp.grand-challenge.org/EtisLarib/", terms="research and education; the paper must be cited",
    cite="Silva et al., Toward embedded detection of polyps in WCE images, IJCARS 2014",
)  # fmt: skip
