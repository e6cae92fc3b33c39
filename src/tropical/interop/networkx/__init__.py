"""The networkx backend: shortest paths, reachability, and measures of both.

networkx finds this module by its entry point and calls these functions in place of its own
functions of the same name. They take a `DenseGraph` as a graph, and return the results of networkx.
"""

from __future__ import annotations

from . import lengths, measures, searches
from .choice import can_run, should_run
from .graph import DenseGraph, convert_from_nx, convert_to_nx
from .lengths import *  # noqa: F403
from .measures import *  # noqa: F403
from .searches import *  # noqa: F403

__all__ = ["DenseGraph", "can_run", "convert_from_nx", "convert_to_nx", "should_run"]
__all__ += lengths.__all__
__all__ += measures.__all__
__all__ += searches.__all__
