"""What a user may write; never run, but checked by mypy --strict (tests/api/test_user_script.py)."""

from pathlib import Path

import endotransfer
from endotransfer import Callback, Experiment, ImagePredictor, Prediction, Results, StopTraining, TrainingEvent


class StopEarly(Callback):
    def on_step(self, event: TrainingEvent) -> None:
        if event.loss is not None and event.loss < 0.1:
            raise StopTraining


def main() -> None:
    gastroscopy, capsule = endotransfer.write_phantom("phantom", images=30, size=64)
    for fault in endotransfer.inspect_folder(capsule).faults:
        print(fault)
    experiment: Experiment = Experiment.quick(gastroscopy, str(capsule), training={"epochs": 2})
    print(endotransfer.init_experiment(gastroscopy, [str(capsule)], "experiment.yaml", say=print).data.size)
    settings = ["training.lr=0.001"]
    results: Results | None = endotransfer.train(
        experiment, Path("runs/one"), settings=settings, callbacks=[StopEarly()]
    )
    if results is not None:
        endotransfer.evaluate("runs/one", capsule, flips=True)
    prediction: Prediction = endotransfer.load("runs/one").predict("image.png")
    print(prediction.lesion_share + 1)
    model: ImagePredictor = endotransfer.load("runs/one")
    shares = [one.lesion_share for _, one in model.predict_folder("images")]
    print(sum(shares), len(endotransfer.predictions_frame(model.predict_folder(Path("images")))))
    page: Path = endotransfer.write_report("runs/one")
    table, missing = endotransfer.benchmark("phantom", "runs/table", seeds=2, settings=["training.epochs=1"])
    print(page, table, len(missing), endotransfer.compare_runs("runs/one", "runs/two"))


if __name__ == "__main__":
    main()
