"""threadpoolctl lists our threads and limits them, as those of a BLAS library."""

from __future__ import annotations

from functools import cache
from typing import Any

from tropical import __version__
from tropical.extras import NotInstalledError, require


@cache
def register() -> None:
    """Make tropical known to threadpoolctl; more than once does no harm.

    ``import tropical`` does this itself where threadpoolctl is imported already. From then on
    ``threadpoolctl.threadpool_info()`` lists tropical, with user API "blas" and internal API
    "tropical", and ``threadpoolctl.threadpool_limits`` limits the products of the calling thread,
    unless it is for another user API.

    Raises
    ------
    NotInstalledError
        Without threadpoolctl, or where it is too old to know other libraries.

    Notes
    -----
    Unregistered, products are limited all the same, through OpenMP, by every limit but those for
    ``user_api="blas"`` alone. Where both set a number, the lower one holds.

    Examples
    --------
    >>> import threadpoolctl
    >>> import tropical
    >>> from tropical.interop.threadpoolctl import register
    >>> register()
    >>> with threadpoolctl.threadpool_limits(1, user_api="blas"):
    ...     tropical.get_num_threads()
    1
    """
    library = require("threadpoolctl", "'threadpoolctl>=3.5'")
    if not hasattr(library, "register"):
        raise NotInstalledError(
            f"threadpoolctl {library.__version__} is too old (pip install 'threadpoolctl>=3.5')"
        )

    base: Any = library.LibController

    class Controller(base):  # type: ignore[misc]
        """What threadpoolctl makes of our extension, which it knows by a symbol."""

        user_api = "blas"
        internal_api = "tropical"
        filename_prefixes = ("_core.",)
        check_symbols = ("tropical_get_thread_limit",)

        def get_num_threads(self) -> int:
            """Return this thread's limit, or what holds for the process."""
            return int(self.dynlib.tropical_get_thread_limit())

        def set_num_threads(self, num_threads: int) -> None:
            """Limit this thread."""
            self.dynlib.tropical_set_thread_limit(num_threads)

        def get_version(self) -> str:
            """Return the package's."""
            return __version__

        def set_additional_attributes(self) -> None:
            """Tell what `threadpool_info` shows beside."""
            self.threading_layer = "pthreads"

    library.register(Controller)
