"""``serq sweep``: what it prints, writes and refuses."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import click
import pandas
import pytest

from serq_lab import cli
from serq_lab.commands.sweep import steps
from tests.experiments.sweeping import PROGRAMS, QUEUE
from tests.experiments.test_executors import cluster, packages_on_path

__all__ = ["packages_on_path"]

MEMORY = str(PROGRAMS / "02-memory.sq")
SHORT = ["--horizon", "5000", "--warmup", "200", "--replications", "4", "--quiet"]


@pytest.fixture
def queue(tmp_path: Path) -> str:
    path = tmp_path / "queue.sq"
    path.write_text(QUEUE)
    return str(path)


def test_the_table_with_its_knee(capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sweep", MEMORY, "--over", "C=4:20", *SHORT]) == 0
    out, err = capsys.readouterr()
    lines = out.splitlines()
    assert err == ""
    assert lines[0] == "observe.admit_wait.mean by C"
    assert lines[2].split() == ["C", "mean", "95%", "CI", "runs", "away", "binds", "steady"]
    four, five = lines[4].split(), lines[5].split()
    assert four[0] == "4"
    assert 20 < float(four[4].removesuffix("%")) < 30
    assert five[4:] == ["memory", "of", '"mem"', "yes"]
    assert lines[-1].startswith("knee at C = ")


def test_the_table_of_a_sweep_that_is_too_coarse(capsys: pytest.CaptureFixture[str], queue: str) -> None:
    loads = "Lambda=0.1,0.3,0.5,0.7,0.9"
    assert cli.main(["sweep", queue, "--over", loads, "--horizon", "20000", "--replications", "4", "--quiet"]) == 0
    last = capsys.readouterr().out.splitlines()[-1]
    assert last.startswith("knee at Lambda = 0.7 ")
    assert "the sweep is too coarse to place it: from Lambda = 0.7 to 0.9" in last
    assert last.endswith("add values between")


def test_several_lets_are_several_tables(capsys: pytest.CaptureFixture[str], queue: str) -> None:
    arguments = ["--over", "Lambda=0.2:0.4:0.1", "--over", "Servers=1,2", "--metric", "stage.server.utilization"]
    assert cli.main(["sweep", queue, *arguments, "--replications", "2"]) == 0
    out = capsys.readouterr().out
    assert "stage.server.utilization by Lambda, Servers = 1\n" in out
    assert "stage.server.utilization by Lambda, Servers = 2\n" in out
    assert out.count("no knee: 3 points count, and it takes 5") == 2


def test_failed_runs_are_counted(capsys: pytest.CaptureFixture[str], queue: str) -> None:
    assert cli.main(["sweep", queue, "--over", "Lambda=-1,0.5", "--replications", "2"]) == 0
    assert "2 of 4 runs failed; the first: " in capsys.readouterr().out


def test_all_failed_is_a_failure(capsys: pytest.CaptureFixture[str], queue: str) -> None:
    assert cli.main(["sweep", queue, "--over", "Lambda=-1,-2", "--replications", "2"]) == 1
    assert "all 4 runs of the sweep failed" in capsys.readouterr().err


def test_rows_and_picture(tmp_path: Path, queue: str) -> None:
    given = ["sweep", queue, "--over", "Lambda=0.2,0.5", "--over", "Servers=1,2", "--replications", "2", "--quiet"]
    written = ["--out", str(tmp_path / "rows.csv"), "--plot", str(tmp_path / "knee.png")]
    assert cli.main([*given, *written]) == 0
    assert cli.main([*given, "--out", str(tmp_path / "rows.parquet"), "--jobs", "1"]) == 0
    csv, parquet = pandas.read_csv(tmp_path / "rows.csv"), pandas.read_parquet(tmp_path / "rows.parquet")
    assert len(csv) == len(parquet) == 8
    assert csv["observe.response.mean"].tolist() == parquet["observe.response.mean"].tolist()
    assert csv["seed"].astype("uint64").tolist() == parquet["seed"].tolist()
    assert (tmp_path / "knee.png").read_bytes().startswith(b"\x89PNG")
    assert (tmp_path / "knee-2.png").exists()


def test_resumed(tmp_path: Path, queue: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["sweep", queue, "--over", "Lambda=0.2,0.5", "--resume", str(tmp_path / "rows.sqlite")]
    assert cli.main(given) == 0
    first = capsys.readouterr().out
    assert cli.main(given) == 0
    assert capsys.readouterr().out == first


@pytest.mark.usefixtures("packages_on_path")
def test_on_a_cluster(queue: str, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["sweep", queue, "--over", "Lambda=0.2,0.5", "--replications", "3"]
    assert cli.main(given) == 0
    here = capsys.readouterr().out
    with cluster() as client:
        assert cli.main([*given, "--dask", client.scheduler.address]) == 0
    assert capsys.readouterr().out == here


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--over", "Lamda=1:3"], '--over: the program has no let "Lamda"; did you mean "Lambda"?'),
        (["--over", "Lambda"], '"Lambda" is not LET=VALUES, as in --over C=4:20 or --over Lambda=0.5,0.8'),
        (["--over", "Lambda=3:1"], '"3:1" is not FIRST:LAST or FIRST:LAST:STEP with a step above 0, as in 4:20'),
        (["--over", "Lambda=1:2:3:4"], '"1:2:3:4" is not FIRST:LAST'),
        (["--over", "Lambda=1:2:0"], "with a step above 0"),
        (["--over", "Lambda=a,b"], '"a" is not a number'),
        (["--over", "Lambda=0:1:1e-9"], "100000 are the most"),
        (["--over", "Lambda=1", "--over", "Lambda=2"], '"Lambda" is given twice'),
        (["--over", "Lambda=0.5", "--metric", "observe.wait.mean"], 'the runs have no "observe.wait.mean"'),
        (["--over", "Lambda=0.5", "--out", "rows.txt"], '--out: "rows.txt" must end in .csv or .parquet.'),
        (["--over", "Lambda=0.5", "--plot", "none/k.png"], '--plot: there is no folder "none".'),
        (["--over", "Lambda=0.5", "--jobs", "0"], "--jobs must be at least 1, and is 0."),
        (["--over", "Lambda=0.5", "--jobs", "2", "--dask", "x"], "--jobs and --dask do not go together."),
        (["--over", "Lambda=0.5", "--replications", "2.5"], '"2.5" is not a whole number'),
        ([], "Missing option '--over'"),
    ],
)
def test_wrong_usage(queue: str, arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sweep", queue, *arguments]) == 2
    err = " ".join(capsys.readouterr().err.split())
    assert message in err


def test_no_cluster_there(queue: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert cli.main(["sweep", queue, "--over", "Lambda=0.5", "--dask", "nonsense://1"]) == 2
    assert '--dask: no cluster answers at "nonsense://1"' in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "values"),
    [
        ("4:7", [4, 5, 6, 7]),
        ("0.4:0.7:0.1", [0.4, 0.5, 0.6, 0.7]),
        ("0:1:0.3", [0, 0.3, 0.6, 0.9]),
        ("1e3:3e3:1e3", [1000, 2000, 3000]),
        ("5:5", [5]),
    ],
)
def test_both_ends_of_a_range_belong_to_it(text: str, values: list[float]) -> None:
    assert steps(text) == values


@pytest.mark.parametrize("text", ["inf:inf", "nan:1", "0:inf", "1:2:-1"])
def test_ranges_without_an_end(text: str) -> None:
    with pytest.raises(click.BadParameter):
        steps(text)


def test_on_a_terminal_without_the_sign(queue: str) -> None:
    command = [sys.executable, "-m", "serq_lab.cli", "sweep", queue, "--over", "Lambda=0.2,0.5", "--replications", "2"]
    root = PROGRAMS.parents[1]
    home = {name: os.environ[name] for name in ("HOME", "XDG_CACHE_HOME") if name in os.environ}  # with the engine
    done = subprocess.run(command, capture_output=True, cwd=root, env={"PYTHONIOENCODING": "ascii", "PATH": "", **home})
    assert done.returncode == 0
    assert b"+/-" in done.stdout
    assert done.stderr == b""
