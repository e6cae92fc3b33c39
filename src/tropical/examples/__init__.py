"""Small programs on real data, each runnable as a module."""
