"""The lab in Jupyter; start with `extension.py`. Nothing below `pipeline.py` needs this folder."""
