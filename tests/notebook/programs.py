"""Programs that run at once, for cells and panels."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
MEMORY = ROOT / "tutorial" / "programs" / "02-memory.sq"

SMALL = """\
let C = 4; // units of memory [2..9]
let Wait = 1; // a pause
let Unused = C;
pool mem { cap C; }
stage server : delay;
workload { arrive batch(6); }
session {
  set u = serial + 1;
  hold mem (u) { observe got = u; run server (Wait); }
  observe gone = now;
}
run { horizon 100; }
"""
