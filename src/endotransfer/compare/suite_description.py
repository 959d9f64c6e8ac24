"""A suite as results.json keeps it."""

from pathlib import Path

from endotransfer.compare.benchmark_results import SuiteDescription
from endotransfer.compare.suite import Suite
from endotransfer.config import WEIGHT_FILES


def description(suite: Suite) -> SuiteDescription:
    """Its task and rows, and of folders only their names."""
    experiment = suite.experiment(suite.rows[0], suite.seed, Path("phantom"))
    folders = {
        role: [folder.path.name for folder in getattr(experiment.data, role) or ()]
        for role in ("source", "target", "test")
    }
    return SuiteDescription.model_validate(
        {
            "name": suite.name,
            "table": suite.table,
            "reference": suite.reference_label,
            "systems": [row.label for row in suite.rows],
            "phantom": suite.drawing,
            "data": {**suite.data, **{role: names for role, names in folders.items() if names}},
            "model": {
                key: Path(value).name if key in WEIGHT_FILES and value else value for key, value in suite.model.items()
            },
            "training": suite.training,
            "evaluation": suite.evaluation,
        }
    )
