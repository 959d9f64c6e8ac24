"""The shape of the project: short files, names that occur once, few untyped values, tests that mirror the source."""

import ast
import io
import re
import statistics
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "endotransfer"
MODULES = sorted(PACKAGE.rglob("*.py"))
NOT_OF_ONE_PACKAGE = {"browser", "contract", "docs", "examples", "robust"}  # folders of tests

# Former names, which standard vocabulary has replaced.
FORMER_MODULES = {"book", "evidence", "feeding", "guard", "kept", "limits", "material", "reduce", "shelf", "sight"}
FORMER_NAMES = {
    "Book", "Evidence", "Feed", "Feeding", "LogitShelf", "Material", "Sight", "Tally", "Verdict", "World", "believe",
    "feeding", "head_lr", "kept_channels", "judge", "lesion_rule", "shelf", "sight", "tally", "uses_evidence",
    "verdict", "witness", "witness_gap",
}  # fmt: skip
FORMER_FUNCTIONS = {"gather", "guard", "reduce"}  # tensors have methods of these names
OLD_NAMES_ALLOWED = {"config/aliases.py", "methods/former_names.py"}  # where they are translated


def repeated(names: Iterable[str]) -> list[str]:
    return [name for name, count in Counter(names).items() if count > 1]


def lines_of(path: Path) -> int:
    return len(path.read_text(encoding="utf-8").splitlines())


def identifiers(path: Path) -> Iterator[str]:
    source = path.read_text(encoding="utf-8")
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type == tokenize.NAME:
            yield token.string


def definitions(path: Path, kind: type[ast.ClassDef] | type[ast.FunctionDef]) -> list[str]:
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return [node.name for node in nodes if isinstance(node, kind)]


def test_no_module_name_occurs_twice() -> None:
    assert repeated(path.name for path in MODULES if path.name != "__init__.py") == []


def test_no_class_name_occurs_twice() -> None:
    assert repeated(name for path in MODULES for name in definitions(path, ast.ClassDef)) == []


def test_files_are_short() -> None:
    lengths = {path.relative_to(PACKAGE).as_posix(): lines_of(path) for path in MODULES}
    assert {name: length for name, length in lengths.items() if length > 300} == {}
    assert statistics.median(lengths.values()) < 100


def test_few_values_are_untyped() -> None:
    assert sum(len(re.findall(r"\bAny\b", path.read_text(encoding="utf-8"))) for path in MODULES) <= 150


def test_no_former_name_is_left() -> None:
    modules = [path for path in MODULES if path.relative_to(PACKAGE).as_posix() not in OLD_NAMES_ALLOWED]
    assert {path.stem for path in modules} & FORMER_MODULES == set()
    functions = {name for path in modules for name in definitions(path, ast.FunctionDef)}
    assert functions & FORMER_FUNCTIONS == set()
    assert {path.name: found for path in modules if (found := set(identifiers(path)) & FORMER_NAMES)} == {}


def test_the_readme_is_read_in_one_go() -> None:
    assert lines_of(ROOT / "README.md") <= 120


def test_folders_of_tests_mirror_the_source() -> None:
    tests = ROOT / "tests"
    folders = {path.parent.relative_to(tests) for path in tests.rglob("test_*.py")} - {Path()}
    own = [folder for folder in folders if folder.parts[0] not in NOT_OF_ONE_PACKAGE]
    assert own
    missing = [str(folder) for folder in own if not (PACKAGE / folder).is_dir()]
    assert [name for name in missing if not (PACKAGE / f"{name}.py").is_file()] == []
