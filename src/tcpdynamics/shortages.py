"""What a process lacks, in one true sentence: memory to load libraries or to compute, files that it may open, an extra.

Belongs to no room: every folder may import it, and it imports none of them, nor any library that could lack the same.
"""

from __future__ import annotations

import errno

#: What runs out where a library cannot be loaded, by the words of the system's loader.
_LOADERS = ("failed to map segment", "cannot allocate", "find/load shared object", "cannot open shared object")
#: Bytes that loading the libraries takes; with less, some of them abort the process, or wait for ever.
LEAST_MEMORY = 8e8
#: Of writing to standard output: nobody reads, no room, closed.
_OF_OUTPUT = (errno.EPIPE, errno.ENOSPC, errno.EIO, errno.EBADF, errno.EDQUOT, errno.EFBIG)
#: What a plain installation lacks -> the extra that brings it.
EXTRAS = {
    "anywidget": "notebook", "dash": "explorer", "dask": "dask", "distributed": "dask", "flask_compress": "explorer",
    "jax": "jax", "jinja2": "charts", "kaleido": "export", "plotly": "charts", "traitlets": "notebook",
    "waitress": "explorer",
}  # fmt: skip


def shortage(error: BaseException) -> str | None:
    """What the process lacks; None where the error says nothing of that.

    Examples
    --------
    >>> shortage(ModuleNotFoundError("No module named 'dash.hooks'", name="dash.hooks"))
    "this needs dash, which is not installed: pip install 'tcpdynamics[explorer]'"
    >>> shortage(OSError(errno.EMFILE, "Too many open files"))
    'this process may not open more files at a time; raise the limit (ulimit -n)'
    >>> shortage(MemoryError())
    'the memory of this machine is too small for this request; give fewer points, times or flows'
    >>> shortage(ValueError("bad"))
    """
    missing = (error.name or "").partition(".")[0] if isinstance(error, ModuleNotFoundError) else ""
    if missing in EXTRAS:
        return f"this needs {missing}, which is not installed: pip install 'tcpdynamics[{EXTRAS[missing]}]'"
    number = error.errno if isinstance(error, OSError) else None
    if number in (errno.EMFILE, errno.ENFILE):
        return "this process may not open more files at a time; raise the limit (ulimit -n)"
    limit = _memory_limit()
    short = isinstance(error, MemoryError) or number == errno.ENOMEM
    loading = isinstance(error, OSError | ImportError) and any(w in str(error).lower() for w in _LOADERS)
    # Under a limit, extensions that get no memory end in errors of other names.
    if limit and (short or loading or isinstance(error, SystemError | ImportError)):  # also of modules half loaded
        return f"the limit of {limit / 1e9:.3g} GB of memory (ulimit -v) is too small for this request; raise it"
    if short:
        return "the memory of this machine is too small for this request; give fewer points, times or flows"
    if isinstance(error, BlockingIOError) or "can't start new thread" in str(error):
        return "this user may not start more threads or processes; raise the limit (ulimit -u)"
    return None


def lacking(error: ModuleNotFoundError) -> ModuleNotFoundError:
    """The error of an import at the head of a module, with the extra that brings what is missing."""
    return ModuleNotFoundError(shortage(error) or str(error), name=error.name)


def too_little() -> str | None:
    """The sentence for a limit of memory under which not even the libraries can be loaded; None without one."""
    if not 0 < _memory_limit() < LEAST_MEMORY:
        return None
    return (
        f"the limit of {_memory_limit() / 1e9:.3g} GB of memory (ulimit -v) is too small: the libraries alone take "
        f"{LEAST_MEMORY / 1e9:g} GB; raise it"
    )


def of_output(error: OSError) -> bool:
    """Whether an error without a file's name is one of writing to standard output."""
    return error.filename is None and error.errno in _OF_OUTPUT


def _memory_limit() -> int:
    """The bytes that this process may have at most; 0 without a limit."""
    try:
        import resource
    except ImportError:  # not on this system
        return 0
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    return 0 if limit == resource.RLIM_INFINITY else limit
