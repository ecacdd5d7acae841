"""The `tcpdynamics` command."""

from __future__ import annotations

import gc
import io
import os
import re
import signal
import sys
import threading
import warnings
from typing import NoReturn

import click

from tcpdynamics import __version__, former_names
from tcpdynamics.errors import MAX_SHOWN, TcpDynamicsError, shown
from tcpdynamics.interrupts import INTERRUPTED, answer_at_once, claim_end, hear, heard
from tcpdynamics.shortages import of_output, shortage

from .groups import LaterGroup
from .progress import announce_compilation

#: Names of options that the first release still accepts.
_FORMER = {"reading": "interpretation", "shares": "fractions"}


#: What the help says of each command, in its order.
_COMMANDS = {
    "simulate": "Simulate packets on a bottleneck or a network.",
    "stationary": "Solve a Markov chain: its stationary distribution.",
    "evaluate": "Evaluate the closed forms of a model.",
    "trajectory": "Follow a model through time.",
    "stability": "Chart where a model is stable under delay.",
    "bifurcation": "Find where a model ends up: equilibrium, cycle or neither.",
    "explore": "Open the interactive explorer in a browser.",
    "report": "Write the report: one self-contained HTML page.",
    "validate": "Compare models with simulations, with intervals and verdicts.",
    "claims": "List what five papers state, and whether it holds.",
    "figures": "Draw figures of the papers, or decide a claim again.",
    "testbed": "Run programs of Linux through a network, in virtual time.",
    "explain": "Show what a store holds: model, parameters, progress.",
}


#: Commands without large matrices. A thread of BLAS for each processor takes CPU time to start; in the report, which
#: keeps all processors busy, such threads would wait for each other. A setting of the user's stands.
_SMALL_MATRICES = ("simulate", "stationary", "report")
_BLAS_THREADS = ("OPENBLAS_NUM_THREADS", "GOTO_NUM_THREADS", "OMP_NUM_THREADS")


def _present(word: str) -> str:
    """The name of an option as it is now."""
    if word in _FORMER:
        former_names.warn_of_key(f"--{word}", f"--{_FORMER[word]}")
    return _FORMER.get(word, word.replace("_", "-"))


@click.group(
    cls=LaterGroup,
    lines=_COMMANDS,
    context_settings={
        "help_option_names": ["-h", "--help"],
        "max_content_width": 110,
        "token_normalize_func": _present,
    },
)
@click.version_option(__version__, prog_name="tcpdynamics")
def cli() -> None:
    """Solve, sweep and check models of TCP congestion control."""


def main() -> NoReturn:
    """Run the command; usage errors print one sentence on standard error and exit with code 2."""
    try:
        if threading.current_thread() is threading.main_thread() and (
            signal.getsignal(signal.SIGINT) in (signal.default_int_handler, hear)
        ):
            signal.signal(signal.SIGINT, hear)
            answer_at_once()
        for stream in (sys.stdout, sys.stderr):
            if isinstance(stream, io.TextIOWrapper):  # what a terminal's encoding lacks is written as an escape
                stream.reconfigure(errors="backslashreplace")
        warnings.showwarning = _show_warning
        announce_compilation()
        gc.set_threshold(5_000)  # of the 100,000 objects that imports make, none is garbage: 5 % of the time
        if {*sys.argv[1:2]} & {*_SMALL_MATRICES} and not any(name in os.environ for name in _BLAS_THREADS):
            os.environ[_BLAS_THREADS[0]] = "1"
        code = cli.main(standalone_mode=False)
        claim_end()
        for stream in (sys.stdout, sys.stderr):
            if stream is not None:
                stream.flush()
        # Everything is written and closed; taking the interpreter and compiled code apart would take half a second.
        os._exit(code if isinstance(code, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message(), file=sys.stderr)
        sys.exit(2)
    except click.ClickException as error:
        _fail(error.format_message())
    except click.Abort:
        _fail("interrupted", INTERRUPTED)
    except KeyboardInterrupt:
        _fail("interrupted", INTERRUPTED)
    except RecursionError:
        _fail("the input is nested too deeply to be read; write it flatter")
    except Exception as error:
        if heard:  # compiled code that was cut short leaves its compiler in disorder
            _fail("interrupted", INTERRUPTED)
        if lack := shortage(error):
            _fail(lack)
        if isinstance(error, OSError):
            if of_output(error) and sys.stdout is not None:  # what is left in the buffer cannot be written either
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
                _fail(f"cannot use standard output: {error.strerror or error}")
            _fail(f"cannot use {error.filename}: {error.strerror or error}" if error.filename else str(error))
        if not isinstance(error, TcpDynamicsError):
            raise
        _fail(str(error))


def _fail(message: str, code: int = 2) -> NoReturn:
    if code == INTERRUPTED:
        claim_end()
    print(f"Error: {_one_line(message)}", file=sys.stderr, flush=True)
    if code == INTERRUPTED:
        os._exit(code)  # the interpreter's own end could be interrupted again
    sys.exit(code)


#: Warnings that are printed already: one of a model comes again from the models that it makes.
_warned: set[str] = set()


def _show_warning(message: object, *more: object, **others: object) -> None:
    """A warning as one line, once, without the place in our sources that raised it."""
    text = _one_line(str(message))
    if text not in _warned:
        _warned.add(text)
        print(f"Warning: {text}", file=sys.stderr)


def _one_line(message: str) -> str:
    """The message in one printable line; what repeats a long value of the user's is cut.

    Click repeats its arguments whole, and so may a library below: what our own messages hold is short already.
    """
    for word in sys.argv[1:]:
        for value in {word, word.partition("=")[2]}:
            if len(value) > MAX_SHOWN:
                message = message.replace(repr(value), shown(value)).replace(value, shown(value))
    message = re.sub(rf"\S{{{MAX_SHOWN + 20},}}", lambda run: shown(run[0]), message)
    message = " ".join(message.split())
    return "".join(c if c.isprintable() else ascii(c)[1:-1] for c in message)


if __name__ == "__main__":
    main()
