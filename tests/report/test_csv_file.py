"""CSV files that keep every digit and that no spreadsheet runs."""

from pathlib import Path

from endotransfer.report.csv_file import write_csv


def test_numbers_keep_their_digits_and_nothing_is_a_formula(tmp_path: Path) -> None:
    write_csv(tmp_path / "a.csv", ("x", "y"), [(0.1 + 0.2, None), ("-0.5", "=1+1"), (-2, '+a,"b"')])
    assert (tmp_path / "a.csv").read_text().splitlines() == [
        "x,y",
        "0.30000000000000004,",
        "-0.5,'=1+1",
        '''-2,"'+a,""b"""''',
    ]
