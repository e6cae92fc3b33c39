// NumPy's headers of Linux ask for glibc's endian.h.
#include <machine/endian.h>
