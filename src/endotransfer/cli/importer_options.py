"""The options of an importer as options of `data import`: `--images drawn` for `--option images=drawn`."""

from typing import TYPE_CHECKING, Any

from typer import Context
from typer.core import TyperCommand

if TYPE_CHECKING:
    from endotransfer.data.importers import Importer

_CHOSEN = "endotransfer.importer"  # where the context keeps the name


class WithImporterOptions(TyperCommand):
    """A command whose first argument is an importer, which has options of its own; `NAME --help` lists them."""

    def parse_args(self, ctx: Context, args: list[str]) -> list[str]:  # type: ignore[override]  # typer's own Context
        known = {option for one in self.params for option in (*one.opts, *one.secondary_opts)}
        ctx.meta[_CHOSEN] = next((arg for arg in args if not arg.startswith("-")), "")
        return super().parse_args(ctx, as_options(args, known | {"--help"}))

    def format_options(self, ctx: Context, formatter: Any) -> None:  # type: ignore[override]  # likewise
        super().format_options(ctx, formatter)
        chosen = _importer(ctx.meta.get(_CHOSEN, ""))
        if chosen is None:
            formatter.write_paragraph()
            formatter.write_text("NAME --help lists the options of that importer, as in: data import folders --help")
            return
        rows = [(f"--{name.replace('_', '-')} TEXT", _default(value)) for name, value in chosen.options().items()]
        with formatter.section(f"Options of {chosen.name}"):
            formatter.write_dl(rows or [("none", "")])
        formatter.write_paragraph()
        for line in (chosen.read.__doc__ or "").replace("`", "").splitlines() if rows else []:
            formatter.write_text(line.strip())


def as_options(args: list[str], known: set[str]) -> list[str]:
    """`--suffix _seg` or `--suffix=_seg` -> `--option suffix=_seg`, for every option that is not `known`."""
    found: list[str] = []
    left = iter(args)
    for arg in left:
        name, equals, value = arg.partition("=")
        if not name.startswith("--") or name in known or arg == "--":
            found.append(arg)
            continue
        given = value if equals else next(left, None)
        option = name.removeprefix("--").replace("-", "_")
        found += ["--option", option if given is None else f"{option}={given}"]
    return found


def _importer(name: str) -> "Importer | None":
    from endotransfer.data.importers import IMPORTERS

    return IMPORTERS.get(name) if name in IMPORTERS.names() else None


def _default(value: str) -> str:
    return f"default: {value}" if value else ""
