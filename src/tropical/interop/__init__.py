"""tropical inside other libraries: a file each, which imports its library when it is used."""
