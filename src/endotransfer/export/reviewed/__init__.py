"""The reviewed images of a folder for other programs: native layout, COCO, DICOM-SEG."""

from endotransfer.export.reviewed.export_errors import HighdicomMissingError as HighdicomMissingError
from endotransfer.export.reviewed.export_errors import NothingReviewedError as NothingReviewedError
from endotransfer.export.reviewed.export_report import ExportReport as ExportReport
from endotransfer.export.reviewed.export_reviewed import FORMS as FORMS
from endotransfer.export.reviewed.export_reviewed import Form as Form
from endotransfer.export.reviewed.export_reviewed import export_reviewed as export_reviewed
