"""Pictures, as matplotlib Axes: curves with their knee, pools over time, samples, and what a program is built of."""

from __future__ import annotations

from serq_lab.plots.curves import plot_curve
from serq_lab.plots.deployment import draw_deployment
from serq_lab.plots.samples import plot_samples
from serq_lab.plots.style import alt_text, save
from serq_lab.plots.timeline import plot_timeline

__all__ = ["alt_text", "draw_deployment", "plot_curve", "plot_samples", "plot_timeline", "save"]
