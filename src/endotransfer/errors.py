"""One tree of errors a user can meet.  Each carries one sentence: what, where, how to fix; and an exit code."""


class EndotransferError(Exception):
    """Anything that is the user's to mend.  The command line prints its text and leaves with `exit_code`."""

    exit_code = 1


class ConfigError(EndotransferError):
    """The experiment, or a command's arguments, cannot be carried out as written."""

    exit_code = 2


class DataError(EndotransferError):
    """A file or folder of images, masks or labels is missing, unreadable or contradicts another."""

    exit_code = 3


class CheckpointError(EndotransferError):
    """A checkpoint or model folder cannot be written, is damaged, or belongs to another model."""

    exit_code = 4


class TrainingDiverged(EndotransferError):  # noqa: N818  (what happened, not what was wrong)
    """A loss or gradient stopped being finite; the last good checkpoint is untouched."""

    exit_code = 5
