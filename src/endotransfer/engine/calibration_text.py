"""How far a model's probabilities can be taken at their word, in sentences and a table for its card."""

from endotransfer.metrics.pixel_calibration import CalibrationSummary
from endotransfer.results import Temperature

UNKNOWN = "Not measured: no test image has a mask. Read a probability as an order, not as a frequency."


def calibration_text(found: CalibrationSummary | None, temperature: Temperature | None = None) -> str:
    """Markdown: the temperature, what was measured, then the reliability diagram as a table."""
    parts = [_temperature(temperature), UNKNOWN if found is None else _measured(found)]
    return "\n\n".join(part for part in parts if part)


def _temperature(fitted: Temperature | None) -> str:
    if fitted is None or fitted.source is None:
        return (fitted.note[:1].upper() + fitted.note[1:].rstrip(".") + ".") if fitted and fitted.note else ""
    tags = f" and the tags of {fitted.target_images} target training images" if fitted.target_images else ""
    return (
        f"Pixel logits are divided by a temperature of {fitted.value:.2f}, fitted to the masks of "
        f"{fitted.source_images} source images that were not trained on{tags}; no target mask was read for it."
    )


def _measured(found: CalibrationSummary) -> str:
    figures = [f"Over {found.pixels:,} test pixels the expected calibration error is {_percent(found.ece)}."]
    if found.ece_lesion is not None:
        figures.append(
            f"Most of them are background; where lesion is at least probable (0.1 or more) it is "
            f"{_percent(found.ece_lesion)}."
        )
    if found.lesion_precision is not None:
        figures.append(
            f"Where the model says lesion, its mean probability is {_percent(found.lesion_probability)}, and "
            f"{_percent(found.lesion_precision)} of these pixels are lesion."
        )
    head = ["| probability | pixels | mean probability | came true |", "|---|---|---|---|"]
    rows = [
        f"| {one.low:.2f} to {one.high:.2f} | {one.pixels:,} | {one.probability:.3f} | {one.observed:.3f} |"
        for one in found.bins
    ]
    return "\n".join([" ".join(figures), "", *head, *rows])


def _percent(value: float | None) -> str:
    return "n/a" if value is None else f"{value:.1f} %"
