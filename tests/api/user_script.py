"""What a user may write; never run, but checked by mypy --strict (tests/api/test_user_script.py)."""

from pathlib import Path

import endotransfer
from endotransfer import Experiment, Prediction


def main() -> None:
    gastroscopy, capsule = endotransfer.write_phantom("phantom", images=30, size=64)
    for fault in endotransfer.inspect_folder(capsule).faults:
        print(fault)
    experiment: Experiment = Experiment.quick(gastroscopy, str(capsule), training={"epochs": 2})
    results = endotransfer.train(experiment, Path("runs/one"), settings=["training.lr=0.001"])
    if results is not None:
        endotransfer.evaluate("runs/one", capsule, flips=True)
    prediction: Prediction = endotransfer.load("runs/one").predict("image.png")
    print(prediction.lesion_share + 1)
    page: Path = endotransfer.write_report("runs/one")
    results, missing = endotransfer.benchmark("phantom", "runs/table", seeds=2, settings=["training.epochs=1"])
    print(page, len(missing), endotransfer.compare_runs("runs/one", "runs/two"))


if __name__ == "__main__":
    main()
