"""What a model says of images unlike those that it was trained for, in sentences for its card and the report."""

from endotransfer.results import Alarms

ABSENT = "Nothing was fitted to tell them: this model marks any picture, a photograph of a street as well, and is sure."


def warning_text(found: Alarms | None) -> str:
    if found is None or not found.images:
        why = f" ({found.note})" if found and found.note else ""
        return ABSENT.removesuffix(".") + why + "."
    test = "" if found.test is None else f", and {found.test:.1f} % of {found.test_images} test images"
    return (
        f"`predict` and the viewer flag images unlike the {found.images} {found.domain} training images to which this "
        f"was fitted: a score above 1, with its reason. So are {found.held_out or 0:.1f} % of training images, held "
        f"against other groups{test}. No alarm is no proof that an image is like them."
    )
