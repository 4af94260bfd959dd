"""From what a run leaves behind to what a reader sees; start with `report.py`."""
