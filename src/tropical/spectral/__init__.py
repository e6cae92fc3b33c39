"""Spectral"""
from .cycles import *
from .cycles import maximum_cycle_mean, critical_graph, cycle_times
