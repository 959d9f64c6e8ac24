"""Groups that stand on both sides of a split."""

from pathlib import Path

from endotransfer.data.folders.folder_contents import FolderEntry
from endotransfer.data.inspect.duplicates import split_groups


def entry(name: str, split: str, **cells: str) -> FolderEntry:
    return FolderEntry(name, Path(f"{name}.png"), None, {"split": split, **cells})


def test_a_patient_on_both_sides_is_an_error_and_a_sequence_a_warning() -> None:
    """CamVid divides its one drive at dusk; whoever publishes so is told, and not refused."""
    entries = [entry("a", "train", patient="p", sequence="s"), entry("b", "test", patient="p", sequence="s")]
    found = {fault.what: fault.severity for fault in split_groups([*entries, entry("c", "test")])}
    assert found == {
        "puts the patient 'p' into test and train": "error",
        "puts the sequence 's' into test and train": "warning",
    }
