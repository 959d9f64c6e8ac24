"""One tree of errors a user can meet.  Each carries one sentence: what, where, how to fix; and an exit code."""

import reprlib

LONGEST = 4000  # characters of a message; a file's content may be quoted in one, and files may be of any length
_QUOTED = 120  # characters of a quoted value
_quote = reprlib.Repr()
_quote.maxlevel, _quote.maxstring, _quote.maxother = 3, 80, 80


class EndotransferError(Exception):
    """Anything that is the user's to mend.  The command line prints its text and leaves with `exit_code`."""

    exit_code = 1
    of_resuming = False  # whether a run cannot be gone on with that could be begun anew

    def __init__(self, message: str = "", *details: object) -> None:
        super().__init__(shortened(message), *details)


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


def shortened(message: str, longest: int = LONGEST) -> str:
    """`message`, its middle left out where it is too long to be read: what is wrong comes first, the fix last."""
    if len(message) <= longest:
        return message
    return f"{message[: longest * 3 // 4]} ... {message[-longest // 5 :]}"


def shown(value: object) -> str:
    """A value of a file for a message: its `repr`, short however large, deep or odd it is."""
    try:
        return shortened(_quote.repr(value), _QUOTED)
    except (ValueError, RecursionError):  # an integer of thousands of digits has no text
        return f"a very large {type(value).__name__}"
