"""A benchmark's results in small: two seeds, a failure, a system not run, an upper bound."""

from typing import Any

import pytest

from endotransfer.report.printed import printed_table

Cell = dict[str, Any]


def medical_cell(label: str, seed: int, normal: float, lesion: float, **more: Any) -> Cell:
    method, _, preset = label.partition("/")
    return {
        "label": label, "method": method, "preset": preset or "default", "variant": None, "seed": seed,
        "classes": ["normal", "lesion"], "iou": {"normal": normal, "lesion": lesion}, "iou_normal": normal,
        "iou_lesion": lesion, "miou": (normal + lesion) / 2, "date": "2026-11-15",
    } | more  # fmt: skip


def standing(place: int | None, leader: str = "lta/multi") -> dict[str, Any]:
    return {"place": place, "leader": leader}


def medical_summary() -> list[dict[str, Any]]:
    """lta leads in two figures; in mIoU `robust` is not told apart from it, and in the lesion's IoU `robust` leads."""
    basis = {"seeds": [0, 1], "over": "seeds and images", "groups": 40, "group_kinds": {"capsule": {"cluster": 40}}}
    robust = "semantic_transfer/robust"
    return [
        {"label": "source_only", "standings": {"miou": standing(2), "iou_lesion": standing(None, robust)}},
        {"label": "lta/multi", "difference": 11.04, "interval": [9.96, 12.5],
         "differences": {"against": "source_only", **basis},
         "standings": {"miou": standing(1), "iou_normal": standing(1), "iou_lesion": standing(2, robust)}},
        {"label": robust, "standings": {"miou": standing(1), "iou_lesion": standing(1, robust)}},
        {"label": "target_supervised", "standings": {"miou": standing(1)}},
    ]  # fmt: skip


@pytest.fixture
def medical() -> dict[str, Any]:
    """mIoU: source_only 60 and 62, lta 70 and 74, paper 66 alone, robust 72 and 72, target_supervised 90 and 92."""
    figures = {
        "source_only": [(80.0, 40.0), (82.0, 42.0)],
        "lta/multi": [(90.0, 50.0), (92.0, 56.0)],
        "semantic_transfer/paper": [(88.0, 44.0)],
        "semantic_transfer/robust": [(84.0, 60.0), (84.0, 60.0)],
        "target_supervised": [(95.0, 85.0), (96.0, 88.0)],
    }
    cells = [medical_cell(label, seed, *pair) for label, pairs in figures.items() for seed, pair in enumerate(pairs)]
    cells.append({"label": "semantic_transfer/paper", "method": "semantic_transfer", "preset": "paper", "seed": 1,
                  "error": "a loss stopped being\nfinite."})  # fmt: skip
    return {
        "suite": {"name": "capsule_50%", "table": 1, "reference": "source_only",
                  "systems": ["target_supervised", *figures, "cdws"]},
        "command": "endotransfer benchmark recipes/capsule.yaml --out DIR",
        "summary": medical_summary(),
        "cells": cells,
    }  # fmt: skip


@pytest.fixture
def street() -> dict[str, Any]:
    """Table 4 with three systems in two groups; `lsd` is marked in some classes, and `BL+AL` never met a train."""
    classes = list(printed_table("gta").columns)
    groups = {"source_only": "compared", "lsd": "compared", "BL+AL": "ablation", "target_supervised": "compared"}
    cells = []
    for place, (label, group) in enumerate(groups.items()):
        for seed in (0, 1):
            iou: dict[str, float | None] = dict.fromkeys(classes, 20.0 + 10 * place + seed)
            iou["road"] = 90.0
            if label == "lsd":
                iou |= {"sky": 99.0}
            if label == "BL+AL":
                iou["train"] = None
            known = [value for value in iou.values() if value is not None]
            variant = {"method": "semantic_transfer", "preset": "paper", "variant": label} if "+" in label else {}
            cells.append({"label": label, "method": label, "preset": "default", "seed": seed, "group": group,
                          "classes": classes, "iou": iou, "iou_normal": None, "iou_lesion": None,
                          "miou": sum(known) / len(known), **variant})  # fmt: skip
    places = {"iou.road": 1, "iou.sky": 1, "iou.sidewalk": 2, "miou": 2}
    summary = [{"label": "lsd", "standings": {name: standing(place) for name, place in places.items()}}]
    return {"suite": {"name": "gta", "table": 4, "reference": "source_only"}, "cells": cells, "summary": summary}
