"""Hypothesis times no single example: a machine that is busy with something else is no fault of the parser."""

from hypothesis import settings

settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")
