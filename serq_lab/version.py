"""The version, in the one place that the build, the report and the command read."""

VERSION = "0.1.0"
