"""How the constructs of the language are written, and what stands in it for words of other languages.

Tables for hints: of `syntax_faults.py`, and of `semantics/` where a fault shows only there. What stands in backticks
is to be typed as it is, but for the names and values in it.
"""

from __future__ import annotations

# What to write for a word that is no statement, or none at this place.
_SET, _HOLD, _PAUSE, _LOOP = (
    "write `set name = value;`",
    "write `hold p (units) { ... }`",
    "time passes at a stage: declare `stage pause : delay;` and write `run pause (e);`",
    "write `loop { ... }`, or `sum j in COUNT (e)` in an expression",
)
ANALOGUES = {
    **dict.fromkeys(("let", "var", "const", "def"), _SET),
    **dict.fromkeys(("acquire", "take", "get", "seize", "lock", "allocate"), _HOLD),
    **dict.fromkeys(("wait", "sleep", "timeout", "delay", "pause"), _PAUSE),
    **dict.fromkeys(("for", "repeat", "forever"), _LOOP),
    **dict.fromkeys(("print", "record", "log"), "write `observe name = value;`"),
    **dict.fromkeys(("return", "exit", "stop", "break"), "write `end;` to end the session"),
    "serve": "write `run s (work);`",
    "if": "write `branch (condition) { ... } else { ... }`",
    "while": "write `loop { branch (condition) { ... } else { end; } }`",
    "else": "`else` stands right behind the first block of a `branch`",
    "cache": "`cache (e)` stands right behind the block of a `hold`",
    "lease": "`lease p (e)` stands behind the block of a `hold` and its `cache`",
}
# How each construct is written, by the word that it starts with: an item, a statement, or an item of a workload.
FORMS = {
    "let": "let name = value;",
    "use": 'use "file.sq";',
    "def": "def f(x) = 2 * x;",
    "pool": "pool p { cap 10; }",
    "stage": "stage s : fifo;",
    "session": "session { ... }",
    "server": "server { ... }",
    "workload": "workload { arrive poisson(0.8); }",
    "gauge": "gauge g = used(p);",
    "arrive": "arrive poisson(0.8);",
    "trace": 'trace "file.csv";',
    "set": "set name = value;",
    "observe": "observe name = value;",
    "hold": "hold p (units) { ... }",
    "grow": "grow p (units);",
    "load": "load p (units);",
    "run": "run s (work);",
    "branch": "branch (condition) { ... } else { ... }",
    "choose": "choose j in 4 by (queue(s[j]));",
}
# The same of what is a part of a construct, by the word before its parenthesis.
PART_FORMS = {
    "ps": "ps(1)",
    "poisson": "poisson(0.8)",
    "renewal": "renewal(~exp(1.25))",
    "closed": "closed(10)",
    "batch": "batch(10)",
}
WORD_OPERATORS = {"and": "&&", "or": "||", "is": "==", "xor": "!=", "mod": "a - b * floor(a / b)"}
