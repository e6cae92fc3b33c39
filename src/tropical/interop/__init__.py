"""tropical inside other packages: a module for each; none is imported before it is asked for."""
