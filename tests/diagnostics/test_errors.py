"""Errors: what they carry, also from one process to another."""

from __future__ import annotations

import pickle

import pytest

import serq_lab
from serq_lab import ProgramError


def test_an_error_comes_back_from_another_process_whole() -> None:
    with pytest.raises(ProgramError) as caught:
        serq_lab.compile("let C = D;\nsession { end; }\nrun { horizon 1; }")
    error = caught.value
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is ProgramError
    assert back.diagnostics == error.diagnostics
    assert str(back) == str(error)
