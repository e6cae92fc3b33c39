"""threadpoolctl lists and limits our threads, like the threads of a BLAS library."""

from __future__ import annotations

from functools import cache
from typing import Any

from tropical import __version__
from tropical.extras import NotInstalledError, require


@cache
def register() -> None:
    """Register tropical with threadpoolctl; a second call does nothing.

    ``import tropical`` registers itself if threadpoolctl is already imported. From then on
    ``threadpoolctl.threadpool_info()`` lists tropical, with user API "blas" and internal API
    "tropical", and ``threadpoolctl.threadpool_limits`` limits the products of the calling thread,
    unless the limit is for another user API.

    Raises
    ------
    NotInstalledError
        If threadpoolctl is missing or older than version 3.5.

    Notes
    -----
    Without registration, threadpoolctl limits products through OpenMP, except by limits for
    ``user_api="blas"`` alone. If both set a number, the lower number holds.

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
        """Our extension for threadpoolctl, which finds the library by a symbol."""

        user_api = "blas"
        internal_api = "tropical"
        filename_prefixes = ("_core.",)
        check_symbols = ("tropical_get_thread_limit",)

        def get_num_threads(self) -> int:
            """Return the limit of this thread, or else of the process."""
            return int(self.dynlib.tropical_get_thread_limit())

        def set_num_threads(self, num_threads: int) -> None:
            """Set the limit of this thread."""
            self.dynlib.tropical_set_thread_limit(num_threads)

        def get_version(self) -> str:
            """Return the version of the package."""
            return __version__

        def set_additional_attributes(self) -> None:
            """Set the other attributes that `threadpool_info` shows."""
            self.threading_layer = "pthreads"

    library.register(Controller)
