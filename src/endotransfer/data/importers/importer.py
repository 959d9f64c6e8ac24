"""The registry of importers, and `import_dataset`, which runs one."""

import inspect
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from pathlib import Path

from endotransfer.data.importers.find import unread_beside
from endotransfer.data.importers.native_writer import new_folder, require_new, write_native
from endotransfer.data.importers.records import ImportReport, Published
from endotransfer.data.pipeline.threads import Progress
from endotransfer.errors import ConfigError, DataError
from endotransfer.label_values import IGNORE
from endotransfer.registry import Registry, nearest

Read = Callable[..., Published]
_REASONS = 3  # that an import without an image gives


@dataclass(frozen=True)
class Importer:
    """One published layout.  `read(source, **options)` looks but writes nothing; its options are all text."""

    name: str
    summary: str  # one line for the list of sets
    url: str
    terms: str
    cite: str
    read: Read
    takes_file: bool = False  # `source` is a file, not a folder

    def options(self) -> dict[str, str]:
        """Option -> default, from the signature of `read`."""
        parameters = list(inspect.signature(self.read).parameters.values())
        return {parameter.name: str(parameter.default) for parameter in parameters[1:]}

    def check(self, options: dict[str, str]) -> None:
        """Refuse an option that this importer does not have."""
        known = list(self.options())
        for option in options:
            if option not in known:
                hint = nearest(option, known) if known else "it has none."
                raise ConfigError(f"importer '{self.name}' has no option '{option}'; {hint}")


IMPORTERS: Registry[Importer] = Registry("importer", "endotransfer.importers")


def importer(
    name: str, *, summary: str, url: str, terms: str, cite: str, takes_file: bool = False
) -> Callable[[Read], Read]:
    """Register the decorated function as the importer called `name`."""

    def register(read: Read) -> Read:
        IMPORTERS.add(name, Importer(name, summary, url, terms, cite, read, takes_file))
        return read

    return register


def choice(option: str, value: str, *allowed: str) -> str:
    """`value`, if the option `option` may have it."""
    if value not in allowed:
        raise ConfigError(f"option {option} cannot be '{value}'; {nearest(value, list(allowed))}")
    return value


def import_dataset(
    name: str,
    source: Path,
    out: Path | None,
    /,
    *,
    progress: Progress | None = None,
    dry_run: bool = False,
    **options: str,
) -> ImportReport:
    """Bring the download in `source` into the native layout at `out`, a folder that is new or empty.

    `progress(done, total)` is called after every image.  An interrupted import leaves nothing at `out`.  `dry_run`:
    look at everything, write nothing.
    """
    chosen = IMPORTERS.get(name)
    chosen.check(options | ({"progress": progress} if isinstance(progress, str) else {}))  # a user's text, not ours
    _check_source(chosen, source)
    if out is not None:
        require_new(out)
    elif not dry_run:
        raise ConfigError("the folder to write is not given; name a new one behind the source, or add --dry-run.")
    try:
        published = chosen.read(source, **options)
    except OSError as reason:
        raise DataError(f"cannot read {source}: {reason}; check the folder and its rights.") from reason
    _check_classes(source, published.classes)
    if published.base is None:
        published.skipped += unread_beside(published.items)
    if dry_run or out is None:
        return _some(write_native(None, published, progress), chosen, source)
    with new_folder(out) as folder:
        report = _some(write_native(folder, published, progress), chosen, source)
        (folder / "SOURCE.md").write_text(_source_note(chosen, source, options, report), encoding="utf-8")
    return report


def _some(report: ImportReport, chosen: Importer, source: Path) -> ImportReport:
    if not report.images:
        kinds = {line.partition(": ")[2]: line for line in reversed(report.skipped)}  # the first file of each reason
        shown = [line for line in report.skipped if line in kinds.values()][:_REASONS]
        why = f" ({'; '.join(shown)})" if shown else ""
        raise DataError(f"no usable image in {source}{why}; is it a complete download of {chosen.name}?")
    return report


def _check_source(chosen: Importer, source: Path) -> None:
    if chosen.takes_file and not source.is_file():
        raise DataError(f"there is no file {source}; give the CSV file with the tags.")
    if not chosen.takes_file and not source.is_dir():
        raise DataError(f"there is no folder {source}; give the folder into which the download was unpacked.")


def _check_classes(source: Path, names: tuple[str, ...]) -> None:
    """Class names come from options and JSON files; refuse those that classes.yaml cannot hold."""
    if not 2 <= len(names) <= IGNORE or len(set(names)) < len(names) or not all(names):
        listed = ", ".join(f"'{name}'" for name in names)
        raise DataError(
            f"the classes of {source} should be 2 to {IGNORE} different names but are {listed}; rename them."
        )


def _source_note(chosen: Importer, source: Path, options: dict[str, str], report: ImportReport) -> str:
    """SOURCE.md: where the images come from, their licence, and every conversion made."""
    given = ", ".join(f"{option}={value}" for option, value in options.items()) or "none"
    return f"""# {chosen.name}

{chosen.summary}

- Home page: {chosen.url}
- Terms: {chosen.terms}
- Please cite: {chosen.cite}
- Imported on {date.today().isoformat()} from a folder called '{source.resolve().name}' (options: {given})

Images were copied byte for byte, except as listed here; nothing was resized.

{report}
"""
