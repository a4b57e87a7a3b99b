"""A pipeline file that is wrong: one line that says where, what, and what is known."""

from collections.abc import Callable
from pathlib import Path

import pytest

from sash.cli import main, pipeline_file
from sash.cli.columns import check_columns
from sash.cli.errors import EndError

Change = Callable[..., Path]

WRONG = [
    (('time = "ts"', "# no time"), 1, ["'time' is missing"]),
    (('time = "ts"', "time = 3"), 1, ["time: takes a string or a list, not 3"]),
    (('keys = ["user"]', "keys = [3]"), 2, ["keys: takes strings, not 3"]),
    (('"1 hour"', '"1 hourr"'), 3, ["watermark:", "hourr", "1 hour"]),
    (('"1 hour"', '"0 s"'), 3, ["watermark: must be longer than 0"]),
    (('"parquet"', '"parket"'), 6, ["no format 'parket'", "csv", "kafka", "did you mean parquet?"]),
    (('path = "rows', 'pth = "rows'), 5, ["source: 'path' is missing"]),
    (
        ('format = "parquet"', 'format = "parquet"\nfoo = 1'),
        7,
        ["source.foo: no such key", "schema"],
    ),
    (('"24 hours"', '"24 horas"'), 10, ["windows.day", "horas"]),
    (
        ('"count"', '"cuont"'),
        13,
        ["aggregations.n.function", "no function 'cuont'", "did you mean count"],
    ),
    (('"count", over = "1 hour"', '"count"'), 13, ["aggregations.n: 'over' is missing"]),
    (('over = "day"', 'over = "dey"'), 14, ["aggregations.hi.over", "known are day", "mean day?"]),
    (('of = "amount", ', ""), 14, ["aggregations.hi: max takes 1 column (column) as `of`"]),
    (('["amount", "shop"]', '["amount"]'), 15, ["argmax takes 2 columns (measure, argument)"]),
    (("{ rows = 50 }", "{ rowz = 50 }"), 16, ["fifty.over: takes one of last, rows, rows_between"]),
    (("{ rows = 50 }", "{ rows = 0 }"), 16, ["fifty.over: n must be at least 1, not 0"]),
    (("own_monoids:", "no_such_module:"), 17, ["mine.function: no module 'no_such_module'"]),
    ((":spread", ":sprad"), 17, ["own_monoids has no 'sprad'; known are spread; did you mean"]),
    ((":spread", ":number"), 17, ["own_monoids:number gives no monoid"]),
    (('[sink]\nformat = "parquet"', '[sink]\nformat = "excel"'), 20, ["parquet, csv, console"]),
    (('path = "out"', 'path = "out"\nif_exists = "append"'), 22, ["known are fail, replace"]),
    (('"local[2]"', '"yarn"'), 24, ["spark.master: takes local"]),
    (('"spark.sql.shuffle', '"shuffle'), 25, ["spark.shuffle.partitions", "Spark's settings"]),
    (("[aggregations]", "[agregations]"), 1, ["'aggregations' is missing"]),
    (("[spark]", "[sparc]"), 23, ["sparc: no such key", "did you mean spark?"]),
    (('time = "ts"', "time = ts"), 1, ["not TOML: Invalid value"]),
    (('keys = ["user"]', 'time = "x"'), 2, ["not TOML: Cannot overwrite a value"]),
    # numbers that are too large
    (("{ rows = 50 }", "{ rows = 9223372036854775808 }"), 16, ["fifty.over.rows: a whole number"]),
    (("{ rows = 50 }", "{ rows_between = [-1, 0x1ffffffffffffffff] }"), 16, ["must fit in 64"]),
    (('partitions" = 2', f'partitions" = -{"9" * 30}'), 25, ["must fit in 64 bits, not -999"]),
    (("{ rows = 50 }", f"{{ rows = {'9' * 5000} }}"), 16, ["a number has more than 1,000 digits"]),
    (('"24 hours"', f'"{"9" * 5000} hours"'), 10, ["a number has more than 1,000 digits"]),
    (('"24 hours"', '"106752 days"'), 10, ["windows.day: is longer than 106751 days (292 years)"]),
    (("{ rows = 50 }", '{ session = "1e9999 s" }'), 16, ["fifty.over", "unknown unit 'e'"]),
    (('"1 hour"', f'"{"9" * 30} hours"'), 3, ["watermark: is longer than 106751 days"]),
    (
        ('"parquet"\npath = "rows.parquet"', '"rate"\nrows = 1000000000001'),
        7,
        ["from 1 to 1000000"],
    ),
    (("[spark]", "[stream]\nfiles_per_batch = 2147483648\n[spark]"), 24, ["from 1 to 2147483647"]),
    # brackets and keys that are nested too deep
    (('time = "ts"', f"time = {'[' * 5000}{']' * 5000}"), 1, ["brackets are nested more than 64"]),
    (('time = "ts"', f"time = {'[' * 5000}"), 1, ["brackets are nested more than 64"]),
    (('time = "ts"', f"time = {'{a=' * 5000}1{'}' * 5000}"), 1, ["brackets are nested more than"]),
    (('["user"]', f"[\n{'[' * 65}1{']' * 65}\n]"), 3, ["brackets are nested more than 64"]),
    (("[windows]", f"[{'a.' * 5000}a]\n[windows]"), 9, ["a: tables are nested more than 64 deep"]),
    (("[windows]", f"[columns]\n{'a.' * 900}a = 1\n[windows]"), 9, ["columns: tables are nested"]),
    (('"local[2]"', f"{{ {'a.' * 900}a = 1 }}"), 23, ["spark: tables are nested more than 64"]),
]


@pytest.mark.parametrize(("change", "line", "said"), WRONG)
def test_what_is_wrong_is_said_in_a_line(
    change: tuple[str, str], line: int, said: list[str], changed: Change
) -> None:
    file = changed(change)
    with pytest.raises(EndError) as end:
        pipeline_file.load(file)
    message = str(end.value)
    assert message.startswith(f"{file}:{line}: "), message
    assert "\n" not in message
    for part in said:
        assert part in message
    assert len(message) < 1000
    assert (end.value.status, end.value.line) == (2, line)
    assert end.value.key is None or f": {end.value.key}: " in message


def test_the_command_says_it_and_ends_with_2(
    changed: Change, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed(('"count"', '"cuont"'))
    assert main(["run", str(file)]) == 2
    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.startswith(f"sash: {file}:13: ")
    assert said.err.count("\n") == 1


def test_the_error_has_the_line_and_the_key(changed: Change) -> None:
    with pytest.raises(EndError) as end:
        pipeline_file.load(changed(('"count"', '"cuont"')))
    assert (end.value.line, end.value.key) == (13, "aggregations.n.function")


def test_no_such_file(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["run", str(tmp_path / "none.toml")]) == 2
    assert capsys.readouterr().err == f"sash: {tmp_path}/none.toml: there is no such file\n"


@pytest.mark.parametrize(
    ("change", "line", "said"),
    [
        (('time = "ts"', 'time = "tss"'), 1, "no column 'tss'"),
        (('["user"]', '["user", "usr"]'), 2, "no column 'usr'"),
        (('of = "amount", over = "day"', 'of = "amont", over = "day"'), 14, "no column 'amont'"),
        (("n = { function", "shop = { function"), 13, "a column of that name already"),
    ],
)
def test_columns_that_are_not_there(
    change: tuple[str, str], line: int, said: str, changed: Change
) -> None:
    file = changed(change)
    loaded = pipeline_file.load(file)
    with pytest.raises(EndError) as end:
        check_columns(loaded, ["user", "ts", "amount", "shop"])
    assert str(end.value).startswith(f"{file}:{line}: ")
    assert said in str(end.value)


def test_a_good_file(home: Path) -> None:
    loaded = pipeline_file.load(home / "good.toml")
    assert loaded.keys == ("user",)
    assert [str(a.frame) for a in loaded.aggregations.values()] == [
        "the last 1 hour", "the last 1 day", "the last 7 days", "the last 50 rows",
        "the last 1 day",
    ]  # fmt: skip
    assert loaded.spark == {"master": "local[2]", "spark.sql.shuffle.partitions": 2}
    assert loaded.source.path == home / "rows.parquet"


WINDOWS = {
    '{ rows = 3 }': "the last 3 rows",
    '{ rows_between = [-2, 2] }': "rows from 2 before to 2 after",
    '{ rows_between = ["unbounded", 0] }': "all rows up to this one",
    '{ range_between = ["-1 hour", "0 s"] }': "the last 1 hour",
    '{ session = "30 minutes" }': "the session so far, gap 30 minutes",
    '{ last = "1 hour", closed = "right" }': "the last 1 hour, closed right",
    '{ delta = "amount", by = 5 }': "amount within 5 of the newest",
}  # fmt: skip


@pytest.mark.parametrize("text", WINDOWS)
def test_windows(text: str, changed: Change) -> None:
    loaded = pipeline_file.load(changed(("{ rows = 50 }", text)))
    frame = str(loaded.aggregations["fifty"].frame)
    if text != '{ rows_between = ["unbounded", 0] }':
        assert frame == WINDOWS[text]
    else:
        assert "before" not in frame
