"""Sliders for a program; start with `panel.py`."""
