"""`endotransfer init`: look at both domains and the machine, split the target if need be, write an experiment file."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from endotransfer.config import Experiment, experiment_from, resolve_paths
from endotransfer.data.folders.split import split_folder
from endotransfer.data.inspect import Inspection, inspect_folder
from endotransfer.errors import ConfigError, DataError
from endotransfer.io import write_atomically
from endotransfer.setup.backbone_file import backbone_of_file
from endotransfer.setup.data_facts import DomainFacts, check_parts, domain_facts, tags_after_split
from endotransfer.setup.experiment_text import experiment_text, plain_settings
from endotransfer.setup.machine import this_machine
from endotransfer.setup.setting_plan import Findings, Wishes, plan_settings
from endotransfer.setup.setting_rules import Chosen

Say = Callable[[str], None]


@dataclass(frozen=True)
class Request:
    """What is asked for.  `out`: the file to write; None: none is written."""

    source: Sequence[Path]
    target: Sequence[Path]
    out: Path | None = None
    backbone: str | None = None
    weights: Path | None = None


def init_experiment(request: Request, say: Say = lambda line: None) -> Experiment:
    """Returns the experiment; `say` is told what was found and done, a line at a time.

    Everything that can be refused is refused before the target is split and the file is written.
    """
    _check(request)
    backbone = _wanted_backbone(request)
    source, target = (_looked_at(folders, say) for folders in (request.source, request.target))
    _check_domains(source, target, request)
    machine = this_machine()
    say(f"machine: {machine}")
    split_now = not target.divided
    if split_now:
        target = _split(target, request.target, say)
    base = (Path.cwd() if request.out is None else request.out.absolute().parent).resolve()
    wishes = Wishes(
        tuple(_spelt(folder, base) for folder in request.source),
        tuple(_spelt(folder, base) for folder in request.target),
        backbone, None if request.weights is None else _spelt(request.weights, base),
    )  # fmt: skip
    sections = plan_settings(Findings(source, target, machine, split_now), wishes)
    experiment = resolve_paths(experiment_from(plain_settings(sections), "init"), base)
    if request.out is not None:
        head = f"Chosen by `endotransfer init` for {machine}; every line may be changed."
        write_atomically(request.out, experiment_text(head, sections), ConfigError)
    return experiment


def _check(request: Request) -> None:
    for role, folders in (("source", request.source), ("target", request.target)):
        if not folders:
            raise ConfigError(f"no {role} folder is named; write `endotransfer init SOURCE TARGET`.")
        for folder in folders:
            if not folder.is_dir():
                raise ConfigError(f"there is no folder {folder}; check the path of the {role}.")
    both = {folder.resolve() for folder in request.source} & {folder.resolve() for folder in request.target}
    if both:
        raise ConfigError(f"{min(both)} is named as source and as target; name two different folders.")
    out = request.out
    if out is not None and out.exists():
        raise ConfigError(f"{out} exists already and is not overwritten; choose another --out.")
    if out is not None and not out.absolute().parent.is_dir():
        raise ConfigError(
            f"there is no folder {out.absolute().parent} for {out.name}; make it, or choose another --out."
        )
    if request.weights is not None and not request.weights.is_file():
        raise ConfigError(f"there is no weights file {request.weights}; check --weights.")


def _wanted_backbone(request: Request) -> Chosen[str] | None:
    """None: the machine decides."""
    from endotransfer.models.backbones.families import backbones_by_head

    if request.backbone is not None:
        import timm

        from endotransfer.registry import load_plugins, nearest

        load_plugins("endotransfer.backbones")
        if not timm.is_model(request.backbone):
            known = nearest(request.backbone, list(backbones_by_head())).partition("Known:")[0]
            raise ConfigError(
                f"timm has no backbone called '{request.backbone}'; {known}`endotransfer backbones` lists them."
            )
        return Chosen(request.backbone, "as asked for")
    if request.weights is not None:
        return Chosen(backbone_of_file(request.weights, backbones_by_head()), "whose weights the file holds")
    return None


def _looked_at(folders: Sequence[Path], say: Say) -> DomainFacts:
    inspections: list[Inspection] = []
    for folder in folders:
        inspections.append(inspect_folder(folder))
        numbers = inspections[-1].fingerprint
        kinds = ", ".join(f"{count} {kind}" for kind, count in numbers["labelled_by"].items())
        say(f"{folder}: {numbers['images']} images ({kinds})")
        domain_facts(inspections[-1:])  # refused before the next, perhaps large, folder is looked at
    return domain_facts(inspections)


def _check_domains(source: DomainFacts, target: DomainFacts, request: Request) -> None:
    if not source.masks:
        raise DataError(
            f"no image of {', '.join(map(str, request.source))} has a mask, and the source needs some; put them into "
            "masks/, or exchange source and target."
        )
    if source.classes != target.classes:
        raise DataError(
            f"source classes {list(source.classes)} and target classes {list(target.classes)} differ; give both the "
            "same classes.yaml."
        )
    check_parts(target, request.target)


def _split(target: DomainFacts, folders: Sequence[Path], say: Say) -> DomainFacts:
    counts = []
    for folder in folders:
        counts.append(split_folder(folder))
        train, test = counts[-1]["train"], counts[-1]["test"]
        say(
            f"{folder} had no split: {train['images']} images to train on, {test['images']} to test on, in labels.csv "
            f"({train['groups']} and {test['groups']} groups; another one: `endotransfer data split --force`)"
        )
    return replace(target, tags=tags_after_split(counts))


def _spelt(path: Path, base: Path) -> str:
    """Relative to the experiment file where it lies below its folder, so that both can be moved together."""
    full = path.expanduser().resolve()
    return str(full.relative_to(base)) if full.is_relative_to(base) else str(full)
