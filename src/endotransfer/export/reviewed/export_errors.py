"""Faults of an export that a caller tells apart."""

from endotransfer.errors import ConfigError, DataError


class NothingReviewedError(DataError):
    """No image has a mask that somebody accepted or drew."""


class HighdicomMissingError(ConfigError):
    """DICOM cannot be written here."""
