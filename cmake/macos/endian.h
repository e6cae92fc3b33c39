// NumPy headers of Linux ask for glibc's endian.h, which macOS names otherwise.
#include <machine/endian.h>
