"""Text cells of CSV files that no spreadsheet runs as a formula."""

FORMULA = ("=", "+", "-", "@", "\t", "\r")  # a spreadsheet runs a cell that begins so


def safe_cell(value: object, *, numbers: bool = False) -> object:
    """`value`, with an apostrophe before text that a spreadsheet would run; `numbers`: text like -0.5 stays."""
    dangerous = isinstance(value, str) and value.startswith(FORMULA) and not (numbers and _is_number(value))
    return f"'{value}" if dangerous else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
