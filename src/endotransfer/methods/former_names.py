"""Names that settings of methods had before, and what they are called now.  Old experiments go on working."""

from collections.abc import Callable

from endotransfer.config import RawConfig, tell_renamed
from endotransfer.errors import ConfigError

# Fields of `{name: semantic_transfer, preset: robust}`, which is the method tag_transfer now: new name, new value.
ROBUST_FIELDS: dict[str, tuple[str, Callable[[object], object]]] = {
    "believe": ("lesion_labeller", lambda value: {"judge": "auto", "evidence": "local"}.get(str(value), value)),
    "lesion_rule": ("lesion_labeller", lambda value: {"set": "dataset_threshold"}.get(str(value), value)),
    "target_balance": ("balance_by_tag", lambda value: {"tags": True, "pixels": False}.get(str(value), value)),
    "tag_rule": ("fill_normal", lambda value: {"fill_normal": True, "none": False}.get(str(value), value)),
}  # fmt: skip
# Measured as null on three transfers (docs/results/parts.md), and gone with their code.
REMOVED = ("voting", "voting_iterations", "evidence_spread", "false_alarms")
# Never varied to any use: constants of tag_transfer and its labellers.
FIXED = (
    "untagged_mu", "untagged_warmup", "reduction", "pseudo_labels", "class_balance", "portion_start", "portion_step",
    "portion_stop", "alpha", "gamma", "centroid_average", "centroid_history", "critic_lr", "image_portion",
    "evidence_lr", "evidence_steps", "warmup_epochs",
)  # fmt: skip
# Fields that single methods had, and what there is in their place.
TAGS_ON_PIXELS = "normal_weight for images tagged normal, missed_weight for images tagged lesion"
GONE: dict[str, dict[str, str]] = {
    "cbst": {
        "warmup_epochs": "source_share, a share of all epochs",
        "tag_weight": "tag_rule: fill_normal for images tagged normal, missed_weight for images tagged lesion",
    },
    "lta": {"tag_weight": TAGS_ON_PIXELS},
    "advent": {"tag_weight": TAGS_ON_PIXELS},
    "tag_transfer": {"local_steps": "a constant, 400", "warmup_epochs": "a constant, 1"},
}

# Values of such fields with which nothing was other than it is now, by method.
AS_IT_IS: dict[str, RawConfig] = {
    **{name: {"tag_weight": 0} for name in ("cbst", "lta", "advent")},
    "tag_transfer": {"local_steps": 400, "warmup_epochs": 1},
}


def with_present_names(settings: RawConfig) -> RawConfig:
    """`settings` of an experiment's `method` with every former name replaced; each one is told."""
    if settings.get("name") == "cycada" and "translation_share" in settings:
        return _steps_in_place_of_share(settings)
    if (settings.get("name"), settings.get("preset")) != ("semantic_transfer", "robust"):
        return _of_one_method(settings)
    tell_renamed("method {name: semantic_transfer, preset: robust}", "{name: tag_transfer}")
    present: RawConfig = {"name": "tag_transfer"}
    for old, value in settings.items():
        if old in ("name", "preset") or (old, value) == ("lesion_rule", "evidence"):  # the latter: as it is anyway
            continue
        if old in REMOVED:
            raise ConfigError(f"method.{old} is no part of tag_transfer: it changed no figure; leave it out.")
        if old in FIXED:
            raise ConfigError(f"method.{old} cannot be set for tag_transfer, where it is a constant; leave it out.")
        new, change = ROBUST_FIELDS.get(old, (old, lambda value: value))
        if new != old:
            tell_renamed(f"method.{old}", f"method.{new}")
        if new in present:
            raise ConfigError(f"method.{old} and method.{new} are the same setting; keep method.{new}.")
        present[new] = change(value)
    return present


def _of_one_method(settings: RawConfig) -> RawConfig:
    name = str(settings.get("name"))
    present, gone = dict(settings), GONE.get(name, {})
    for old, value in AS_IT_IS.get(name, {}).items():  # as a finished run has written it out
        if present.get(old) == value:
            del present[old]
    for old in gone.keys() & present.keys():
        raise ConfigError(f"method.{old} is no part of {settings['name']} any more; in its place there is {gone[old]}.")
    if settings.get("name") == "fda" and "beta" in present:
        tell_renamed("method.beta", "method.betas, a list")
        if "betas" in present:
            raise ConfigError("method.beta and method.betas are the same setting; keep method.betas.")
        present["betas"] = [present.pop("beta")]
    return present


def _steps_in_place_of_share(settings: RawConfig) -> RawConfig:
    """CyCADA's translation was a share of the epochs and is a number of steps: only nothing is the same in both."""
    if settings["translation_share"] != 0:
        raise ConfigError(
            "method.translation_share, a share of the epochs, is method.translation_steps now, a number of steps; "
            "write for example 5000."
        )
    tell_renamed("method.translation_share", "method.translation_steps")
    return {"translation_steps": 0} | {key: value for key, value in settings.items() if key != "translation_share"}
