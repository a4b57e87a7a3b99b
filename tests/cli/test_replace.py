"""A sink replaces only what Sash or Spark wrote, apart from what is read; a kill loses nothing."""

import os
import shutil
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sash.cli import checks, main, pipeline_file
from sash.cli.errors import EndError
from sash.cli.replace import CHECKPOINT, Place, drop_old, held, repair, replacing

Change = Callable[..., Path]
PATHS = ('path = "rows.parquet"', 'path = "out"')


def tree(folder: Path) -> dict[str, bytes]:
    """All that a folder holds."""
    files = (p for p in folder.rglob("*") if p.is_file() and "__pycache__" not in p.parts)
    return {str(p.relative_to(folder)): p.read_bytes() for p in files}


def refused(file: Path, *, stream: bool = False) -> str:
    """What a run says that may not begin; nothing has changed."""
    before = tree(file.parent)
    with pytest.raises(EndError) as end:
        checks.check(pipeline_file.load(file), stream)
    assert tree(file.parent) == before
    assert end.value.status == 2
    return str(end.value)


OVERLAPS = [
    ("rows.parquet", ".", "contains the source"),
    ("rows.parquet", "..", "contains the source"),
    ("rows.parquet", "rows.parquet", "is the source"),
    ("rows.parquet", "./x/../rows.parquet", "is the source"),
    ("data", "data", "is the source"),
    ("data", "data/inner/out", "lies in the source"),
    ("data", "link", "is the source"),
    ("data", "link/out", "lies in the source"),
    ("link", "data/out", "lies in the source"),
    ("linked", "elsewhere", "contains the source"),
    ("data/*.parquet", "data/a.parquet", "is the source"),
    ("data/*.parquet", "data", "contains the source"),
    ("data/*.parquet", "data/new.parquet", "would be read by the next run"),
    ("*/*.parquet", "fresh", "would be read by the next run"),
    ("rows.parquet", "changed.toml", "is the pipeline file"),
    ("rows.parquet", "states", "contains the checkpoint"),
    ("rows.parquet", "states/one/out", "lies in the checkpoint"),
]


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("source", "sink", "said"), OVERLAPS)
def test_a_sink_that_overlaps_is_refused(
    source: str, sink: str, said: str, stream: bool, home: Path, changed: Change
) -> None:
    for folder in ("data/inner", "elsewhere", "linked", "x", "states/one"):
        (home / folder).mkdir(parents=True)
    for name in ("data/a.parquet", "elsewhere/b.parquet", "states/one/metadata"):
        shutil.copy(home / "rows.parquet", home / name)
    (home / "link").symlink_to(home / "data")
    (home / "linked" / "b.parquet").symlink_to(home / "elsewhere" / "b.parquet")
    for folder in ("data", "elsewhere"):
        (home / folder / "_SUCCESS").touch()  # written by Spark, and still not to be replaced
    file = changed(
        (PATHS[0], f'path = "{source}"'),
        (PATHS[1], f'path = "{sink}"\nif_exists = "replace"\n[stream]\ncheckpoint = "states/one"'),
    )
    assert said in refused(file, stream=stream)


@pytest.mark.parametrize("place", ["rows.parquet", ".", "changed.toml"])
def test_a_checkpoint_that_overlaps_is_refused(place: str, home: Path, changed: Change) -> None:
    (home / "metadata").write_text("as in a checkpoint of Spark's")
    more = f'path = "out"\nif_exists = "replace"\n[stream]\ncheckpoint = "{place}"'
    said = refused(changed((PATHS[1], more)), stream=True)
    assert "stream.checkpoint: " in said or "lies in the checkpoint" in said


def test_the_command_refuses_before_anything_starts(
    changed: Change, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed((PATHS[1], 'path = "."\nif_exists = "replace"'))
    before = tree(file.parent)
    for more in ([], ["--stream"]):
        assert main(["run", *more, str(file)]) == 2
        assert "sink.path:" in capsys.readouterr().err
    assert tree(file.parent) == before


@pytest.mark.parametrize("report", ["rows.parquet", "changed.toml", "out/page.html"])
def test_a_report_is_not_written_over_what_is_read(
    report: str, changed: Change, capsys: pytest.CaptureFixture[str]
) -> None:
    file = changed()
    before = tree(file.parent)
    assert main(["run", str(file), "--report", str(file.parent / report)]) == 2
    assert "sash: run: --report" in capsys.readouterr().err
    assert tree(file.parent) == before


def test_the_demo_leaves_a_folder_alone_that_is_not_its_own(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "flights").mkdir()
    for name in ("flights.toml", "flights/mine.parquet", "report.html"):
        (tmp_path / name).write_text("dear")
    before = tree(tmp_path)
    assert main(["demo", "--out", str(tmp_path)]) == 1
    assert "is not a demo's" in capsys.readouterr().err
    assert tree(tmp_path) == before


FOREIGN = {
    "a file": (["out"], "it is a file"),
    "a folder of the user's": (["out/mine.txt"], "it holds mine.txt"),
    "a file beside Spark's": (["out/_SUCCESS", "out/part-0", "out/mine.txt"], "it holds mine.txt"),
    "a file in a partition": (["out/_SUCCESS", "out/day=1/mine.txt"], "it holds day=1/mine.txt"),
    "parts without a mark": (["out/part-0"], "it has no _SUCCESS"),
}


@pytest.mark.parametrize("kind", FOREIGN)
def test_what_sash_did_not_write_is_not_replaced(kind: str, home: Path, changed: Change) -> None:
    names, said = FOREIGN[kind]
    for name in names:
        (home / name).parent.mkdir(parents=True, exist_ok=True)
        (home / name).write_text("dear")
    file = changed((PATHS[1], 'path = "out"\nif_exists = "replace"'))
    for stream in (False, True):
        assert f"was not written by Sash or Spark ({said})" in refused(file, stream=stream)


def test_a_checkpoint_with_files_of_the_user_s_is_not_replaced(home: Path, changed: Change) -> None:
    (home / "out.checkpoint").mkdir()
    (home / "out.checkpoint" / "metadata").touch()
    (home / "out.checkpoint" / "mine.txt").touch()
    file = changed((PATHS[1], 'path = "out"\nif_exists = "replace"'))
    assert "out.checkpoint was not written by Sash or Spark (it holds mine.txt)" in refused(
        file, stream=True
    )


def output(folder: Path, text: str) -> None:
    folder.mkdir(parents=True)
    for part in range(2):
        (folder / f"part-{part}").write_text(text)


def test_what_spark_wrote_is_replaced(tmp_path: Path) -> None:
    place = tmp_path / "out"
    for text in ("one", "two"):
        with replacing(place) as new:
            output(new, text)
        assert {p.name for p in place.iterdir()} == {"part-0", "part-1", "_SUCCESS"}
        assert (place / "part-1").read_text() == text
    assert list(tmp_path.iterdir()) == [place]


def test_a_link_to_an_output_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "out").symlink_to(tmp_path / "disk" / "out")
    for text in ("one", "two"):
        with replacing(tmp_path / "out") as new:
            output(new, text)
    assert (tmp_path / "out").is_symlink()
    assert (tmp_path / "disk" / "out" / "part-0").read_text() == "two"


def test_what_fails_leaves_the_old_output(tmp_path: Path) -> None:
    place = tmp_path / "out"

    def half() -> None:
        with replacing(place) as new:
            output(new, "half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        half()
    assert not list(tmp_path.iterdir())
    with replacing(place) as new:
        output(new, "old")
    with pytest.raises(KeyboardInterrupt):
        half()
    assert (place / "part-0").read_text() == "old"
    assert list(tmp_path.iterdir()) == [place]


def test_two_runs_at_once(tmp_path: Path) -> None:
    place = Place(tmp_path / "out")
    with held(place), pytest.raises(EndError, match="another run writes to"):
        repair(place)
    assert not list(tmp_path.iterdir())


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / ".out.sash").mkdir()
    (tmp_path / ".out.sash" / "mine.txt").touch()
    with pytest.raises(EndError, match="not made by Sash"):
        repair(Place(tmp_path / "out"))
    assert (tmp_path / ".out.sash" / "mine.txt").exists()


CHANGES = ("os.rename", "os.remove", "os.rmdir", "os.mkdir", "open")


def killed(job: Callable[[], object], before: int, home: Path) -> bool:
    """Run a job in a process that is killed before its n-th change of files below `home`."""
    child = os.fork()
    if not child:
        left = before

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal left
            if event in CHANGES and (event != "open" or str(home) in str(arguments[0])):
                left -= 1
                if left < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        job()
        os._exit(0)
    _, status = os.waitpid(child, 0)
    assert status == 0 or os.WTERMSIG(status) == signal.SIGKILL
    return status != 0


def test_a_batch_killed_before_each_change(tmp_path: Path) -> None:
    """One whole output is there at any time, in its place after the next run's repair."""
    seen = set()
    for change in range(1000):
        home = tmp_path / str(change)
        place = home / "out"
        with replacing(place) as new:
            output(new, "old")

        def job(place: Path = place) -> None:
            with replacing(place) as new:
                output(new, "new")

        was_killed = killed(job, change, home)
        in_place = place.exists()
        repair(Place(place))
        parts = {(place / f"part-{part}").read_text() for part in range(2)}
        assert len(parts) == 1
        assert [p.name for p in home.iterdir()] == ["out"]
        seen.add((was_killed, in_place, *parts))
        if not was_killed:
            break
    assert seen == {
        (True, True, "old"),
        (True, False, "old"),  # between the two renames
        (True, True, "new"),  # before the old one was removed
        (False, True, "new"),
    }


def stream(home: Path) -> None:
    """What Spark does for a stream that replaces an output and its checkpoint."""
    places = Place(home / "out"), Place(home / "cp", CHECKPOINT)
    with held(*places):
        for place in places:
            place.set_aside()
        started(home, "new")
        drop_old(places)
        (home / "out" / "_spark_metadata" / "1").write_text("new")


def started(home: Path, text: str) -> None:
    (home / "cp" / "offsets").mkdir(parents=True)
    (home / "cp" / "metadata").write_text(text)
    (home / "cp" / "offsets" / "0").write_text(text)
    (home / "out" / "_spark_metadata").mkdir(parents=True)
    (home / "out" / "part-0").write_text(text)
    (home / "out" / "_spark_metadata" / "0").write_text(text)


@pytest.mark.parametrize("had", ["stream", "batch", "nothing"])
def test_a_stream_killed_before_each_change(had: str, tmp_path: Path) -> None:
    """The output and the checkpoint are both the old ones, or both the new ones."""
    ends = set()
    for change in range(1000):
        home = tmp_path / str(change)
        home.mkdir()
        if had == "stream":
            started(home, "old")
        if had == "batch":
            with replacing(home / "out") as new:
                output(new, "old")
        before = tree(home)
        was_killed = killed(lambda home=home: stream(home), change, home)  # type: ignore[misc]
        repair(Place(home / "out"), Place(home / "cp", CHECKPOINT))
        found = tree(home)
        assert not list(home.glob(".*"))
        new_ones = {"out/part-0", "out/_spark_metadata/0", "cp/metadata", "cp/offsets/0"}
        is_new = new_ones <= set(found) and {found[name] for name in new_ones} == {b"new"}
        assert is_new or found == before, change
        ends.add((was_killed, is_new))
        if not was_killed:
            break
    assert ends == {(True, False), (True, True), (False, True)}
