"""Rows of lengths from many vertices, written as they come: ``write_lengths``."""
