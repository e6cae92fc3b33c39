"""Matrices over maxplus and minplus as systems that evolve: cycle means, schedules, curves."""

from .curves import backlog, convolve, deconvolve, delay, rate_latency, token_bucket
from .cycles import CycleMean, critical_graph, cycle_times, maximum_cycle_mean
from .eigen import Eigenspace, cyclicity, eigenvectors, transient
from .residuals import left_residual, right_residual
from .schedules import schedule

__all__ = [
    "CycleMean",
    "Eigenspace",
    "backlog",
    "convolve",
    "critical_graph",
    "cycle_times",
    "cyclicity",
    "deconvolve",
    "delay",
    "eigenvectors",
    "left_residual",
    "maximum_cycle_mean",
    "rate_latency",
    "right_residual",
    "schedule",
    "token_bucket",
    "transient",
]
