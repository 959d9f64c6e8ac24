"""An experiment file as text: each setting on a line, its reason behind it as a comment."""

from collections.abc import Iterator, Mapping

import yaml

from endotransfer.setup.setting_plan import Section, Sections
from endotransfer.setup.setting_rules import Chosen


def experiment_text(head: str, sections: Sections) -> str:
    """`head`: what the comment on top says, one line."""
    return "\n".join([f"# {_one_line(head)}", *_lines(sections)]) + "\n"


def plain_settings(sections: Sections) -> dict[str, object]:
    """The same as a mapping, without reasons."""
    return {key: _plain(part) for key, part in sections.items()}


def _plain(part: Section | Chosen[object]) -> object:
    return {key: chosen.value for key, chosen in part.items()} if isinstance(part, Mapping) else part.value


def _lines(sections: Sections) -> Iterator[str]:
    for key, part in sections.items():
        if isinstance(part, Mapping):
            yield f"{key}:"
            yield from (_line(f"  {name}", chosen) for name, chosen in part.items())
        else:
            yield _line(key, part)


def _line(key: str, chosen: Chosen[object]) -> str:
    return f"{key}: {_flow(chosen.value)}  # {_one_line(chosen.why)}"


def _flow(value: object) -> str:
    """A value on one line, quoted where YAML needs it."""
    text = yaml.safe_dump(value, default_flow_style=True, allow_unicode=True, width=10**9)
    return text.removesuffix("...\n").strip()


def _one_line(text: str) -> str:
    return " ".join(text.split())
