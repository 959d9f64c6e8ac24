"""What holds for every importer: a miniature of its set becomes a folder that reads back."""

import re
from collections.abc import Callable
from pathlib import Path

import pytest

import endotransfer.data.importers as package
from endotransfer.data.folders.read_folder import read_folder
from endotransfer.data.importers import IMPORTERS, import_dataset
from endotransfer.errors import DataError

Miniature = Callable[[str], Path]
EXPECTED = {  # name: images, masks, lesion, normal
    "kvasir-seg": (2, 2, 2, 0),
    "cvc-clinicdb": (4, 4, 4, 0),
    "cvc-colondb": (3, 3, 3, 0),
    "etis-larib": (3, 3, 3, 0),
    "polypgen": (9, 9, 7, 2),
    "edd2020": (2, 2, 2, 0),
    "wcebleedgen": (4, 4, 2, 2),
    "hyperkvasir": (4, 1, 1, 1),
    "coco": (3, 3, 2, 1),
    "folders": (2, 2, 1, 1),
    "table": (3, 1, 2, 1),
}


def test_every_registered_importer_has_a_miniature_and_a_file_of_its_name() -> None:
    assert IMPORTERS.names() == sorted(EXPECTED)
    here = Path(package.__file__).parent
    assert all((here / f"{name.replace('-', '_')}.py").is_file() for name in IMPORTERS.names())


@pytest.mark.parametrize("name", EXPECTED)
def test_an_importer_says_whose_images_they_are(name: str) -> None:
    entry = IMPORTERS.get(name)
    assert entry.name == name and entry.summary and "\n" not in entry.summary
    assert entry.terms and entry.cite and re.match(r"https?://|docs/", entry.url)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_published_layout_becomes_a_folder_that_reads_back(name: str, miniature: Miniature, out: Path) -> None:
    images, masks, lesion, normal = EXPECTED[name]
    source = miniature(name)
    report = import_dataset(name, source, out)
    assert report.skipped == []
    assert (report.images, report.masks, report.lesion, report.normal) == (images, masks, lesion, normal)
    folder = read_folder(out)
    assert len(folder.samples) == images
    assert sum(sample.mask is not None for sample in folder.samples) == masks
    assert [sample.tag for sample in folder.samples].count(1) == lesion
    assert [sample.tag for sample in folder.samples].count(0) == normal
    note = (out / "SOURCE.md").read_text()
    entry = IMPORTERS.get(name)
    assert entry.terms in note and entry.cite in note and str(report) in note and str(source) not in note


@pytest.mark.parametrize("name", [name for name in EXPECTED if name not in ("coco", "table")])
def test_a_folder_that_is_not_the_set_is_refused_with_what_was_expected(name: str, source: Path, out: Path) -> None:
    (source / "holiday").mkdir()
    with pytest.raises(DataError, match=r"should hold '.+' but holds 'holiday'; give the folder"):
        import_dataset(name, source, out)
    assert not out.exists()
