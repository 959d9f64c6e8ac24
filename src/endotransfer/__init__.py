"""endotransfer: weakly supervised domain adaptation for lesion segmentation in endoscopy.

Research use only, not a medical device.  The names below are the whole Python interface; each is imported when it is
first used, so that `import endotransfer` and the command line start at once.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from endotransfer.api import (
        benchmark,
        compare_runs,
        evaluate,
        export_model,
        export_reviewed,
        import_dataset,
        init_experiment,
        inspect_folder,
        load,
        predict_files,
        push_model,
        read_experiment,
        search,
        split_folder,
        sweep,
        train,
        write_phantom,
        write_report,
    )
    from endotransfer.config import Experiment
    from endotransfer.engine.callbacks import Callback, StopTraining, TrainingEvent
    from endotransfer.predict.data_frame import predictions_frame
    from endotransfer.predict.image_predictor import ImagePredictor
    from endotransfer.predict.prediction import Prediction
    from endotransfer.results import Results

__version__ = "0.1.0"

__all__ = [
    "Callback",
    "Experiment",
    "ImagePredictor",
    "Prediction",
    "Results",
    "StopTraining",
    "TrainingEvent",
    "__version__",
    "benchmark",
    "compare_runs",
    "evaluate",
    "export_model",
    "export_reviewed",
    "import_dataset",
    "init_experiment",
    "inspect_folder",
    "load",
    "predict_files",
    "predictions_frame",
    "push_model",
    "read_experiment",
    "search",
    "split_folder",
    "sweep",
    "train",
    "write_phantom",
    "write_report",
]

if not TYPE_CHECKING:  # a type checker sees the imports above, and would take `__getattr__` for leave to misspell them
    _HOMES = {
        "endotransfer.config": ("Experiment",),
        "endotransfer.engine.callbacks": ("Callback", "StopTraining", "TrainingEvent"),
        "endotransfer.predict.data_frame": ("predictions_frame",),
        "endotransfer.predict.image_predictor": ("ImagePredictor",),
        "endotransfer.predict.prediction": ("Prediction",),
        "endotransfer.results": ("Results",),
    }
    _NAMES = {name: home for home, names in _HOMES.items() for name in names}

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module 'endotransfer' has no attribute '{name}'")
        return getattr(import_module(_NAMES.get(name, "endotransfer.api")), name)

    def __dir__() -> list[str]:
        return sorted(__all__)
