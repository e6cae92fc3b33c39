"""`tropical` inside other libraries: a module for each, which imports it."""
