"""The version of a tree that is not installed; a wheel has its own version here, from the tag."""

__version__ = "0.0.0+source"
