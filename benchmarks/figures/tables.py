"""Figures of tables in process."""

from __future__ import annotations

from benchmarks.figures.figure import (
    Figure,
    Section,
    column,
    faster,
    of,
    relative,
)
from benchmarks.records import Row

SUMS = ("max", "sum", "mean")
LIBRARY = {"polars": "polars", "pandas": "pandas", "duckdb": "DuckDB"}

RANDOM, REGULAR = "tables_compare_random", "tables_compare_regular"
ROLLED = "rolling max, sum, mean and stddev over {windows} rows, {rows} rows at"


def with_keys(keys: int, order: str) -> Figure:
    record = f"tables_compare_random_{keys}_keys_{order}_order"
    words = "in order of time" if order == "time" else "in random order"
    rows = f"{{rows}} rows of {{keys}} keys at random times, {words}"
    says = f"rolling max, sum, mean and stddev over {{windows}} rows of a key, {rows}"
    return Figure(f"keys-{keys}-{order}", says, record, column("x polars"), faster("polars"))


def features(keys: int, order: str) -> Figure:
    record = f"tables_features_random_{keys}_keys_{order}_order"
    words = "in order of time" if order == "time" else "in random order"
    says = f"24 features in one call, {{rows}} rows of {{keys}} keys at random times, {words}"
    return Figure(f"features-{keys}-{order}", says, record, column("x polars"), faster("polars"))


TABLES = Section(
    "Tables in process",
    [
        Figure(
            "random-polars", f"{ROLLED} random times", RANDOM, column("x polars"), faster("polars")
        ),
        Figure(
            "random-polars-sums",
            "the same, max, sum and mean",
            RANDOM,
            column("x polars", aggregation=SUMS),
            faster("polars"),
        ),
        Figure(
            "random-pandas", f"{ROLLED} random times", RANDOM, column("x pandas"), faster("pandas")
        ),
        Figure(
            "regular-polars",
            f"{ROLLED} regular times",
            REGULAR,
            column("x polars"),
            faster("polars"),
        ),
        Figure(
            "regular-pandas",
            f"{ROLLED} regular times",
            REGULAR,
            column("x pandas"),
            faster("pandas"),
        ),
        with_keys(1000, "time"),
        with_keys(1000, "random"),
        with_keys(1_000_000, "time"),
        with_keys(1_000_000, "random"),
        features(1000, "time"),
        features(1000, "random"),
        features(1_000_000, "time"),
        features(1_000_000, "random"),
        Figure(
            "own",
            "a user's own monoid over 1,000 rows, 500,000 rows at random times",
            "tables_own_random",
            column("x pandas apply"),
            faster("pandas' `rolling.apply`"),
        ),
        relative(
            "own-built-in",
            "a user's own sum, max and stddev over 1,000 rows, {rows} rows at random times: time "
            "relative to the built-in ones",
            "tables_own_random",
            column("own to built in", window=1000),
        ),
        Figure(
            "first-filled",
            "`import sash` and six aggregations over a pandas table, new process, filled kernel "
            "cache",
            "tables_first_random",
            column("filled cache, s"),
            of("s"),
            "lower",
        ),
        relative(
            "first-empty",
            "the same with an empty kernel cache: time relative to a filled one",
            "tables_first_random",
            column("empty to filled"),
        ),
        relative(
            "flat",
            "time per row with a window of 10^6 rows, relative to 10 rows; {rows} rows at random "
            "times",
            "tables_flat_random",
            column("10^6 to 10"),
        ),
    ],
)


def rolled(name: str, says: str, *questions: str) -> list[Figure]:
    chosen = {"question": questions}
    return [
        Figure(
            f"rollfun-{name}-{library}",
            f"{says} {{rows}} rows",
            "rollfun",
            column(f"x {library}", **chosen),
            faster(LIBRARY[library]),
        )
        for library in ("polars", "pandas")
    ]


ROLLFUN = Section(
    "Frames by rows",
    [
        *rolled(
            "mean",
            "mean over 1,000, 10,000 and 100,000 rows,",
            "mean",
            "window small",
            "window big",
        ),
        *rolled("min", "min over 10,000 rows,", "min"),
        *rolled("median", "median over 10,000 rows,", "median"),
        *rolled("several", "two columns' means over two windows,", "multiroll"),
        *rolled("weighted", "weighted mean over 10,000 rows,", "weighted"),
        *rolled(
            "uneven", "mean over 10,000 steps of an uneven index,", "uneven dense", "uneven sparse"
        ),
        *rolled("regression", "R² of a regression over 10,000 rows,", "regression"),
        *rolled(
            "own", "a user's own function over 10,000 rows, on a hundredth of the", "user function"
        ),
        Figure(
            "rollfun-duckdb",
            "all questions that DuckDB answers, {rows} rows",
            "rollfun",
            column("x duckdb"),
            faster("DuckDB"),
        ),
    ],
    "The rolling-function questions of the public db-benchmark, on data made as it makes them.",
)

DERIVED = ("derived input", "derived result", "ratio")
CONDITIONS = ("condition", "two conditions", "text")
EXCLUSION = ("without current row", "without group", "without ties")


def language(name: str, says: str, *forms: str) -> list[Figure]:
    def of_forms(rows: list[Row]) -> list[float]:
        return [number for form in forms for number in column(form)(rows)]

    return [
        relative(
            f"language-{name}{keys}",
            f"{says}: time relative to the plain aggregation, {{rows}} rows at random times{words}",
            f"language_random_past{keys}",
            of_forms,
        )
        for keys, words in (("", ""), ("_1000_keys", ", {keys} keys"))
    ]


LANGUAGE = Section(
    "Filters, expressions, SQL, sharing",
    [
        *language(
            "derived",
            "an expression as the input or on the result, of built-in and users' own aggregations",
            *DERIVED,
        ),
        *language("filter", "a filter by a column that half of the rows pass", "filter"),
        *language(
            "condition",
            "a filter by a comparison of a column of numbers or texts, or by two columns",
            *CONDITIONS,
        ),
        *language("exclude", "the current row, its group or its ties excluded", *EXCLUSION),
        relative(
            "sql",
            "20 window columns in SQL, {rows} rows: time relative to the same definition in Python",
            "sql",
            column("SQL / Python"),
        ),
        Figure(
            "together",
            "24 aggregations over 4 windows in one call, {rows} rows of 100 keys",
            "sharing",
            column("this", case="together"),
            of("s"),
            "lower",
        ),
    ],
)
