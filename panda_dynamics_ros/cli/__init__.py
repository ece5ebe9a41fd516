# SPDX-License-Identifier: Apache-2.0
"""The `panda-dynamics` command: finds the sub-command, runs it, and turns its errors into one line.

Each sub-command is a module of this package with `EXAMPLES`, `OPTIONS` (beside --json, which all have) and `run(args)`,
which may return an exit code. Only the one that was asked for is imported. docs/commands.md and the pages that it names
have what is more than a line of help.
"""

import argparse
import importlib
import io
import os
import re
import signal
import sys
import threading
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from panda_dynamics_ros.cli import options
from panda_dynamics_ros.errors import ArgumentError, PandaDynamicsError
from panda_dynamics_ros.untrusted import exists, printable

PROGRAM = "panda-dynamics"
COMMANDS = {
    "demo": "simulate a Panda that picks up a payload, and let the nodes find it",
    "replay": "compute torques, poses, contacts and payload of a recording",
    "live": "show torques, pose and payload of a robot by its IP address, read-only",
    "weigh": "weigh a payload to a few grams, from runs of one motion with and without it",
    "batch": "annotate many recordings: one table of payloads, contacts and quality",
    "identify": "fit a model of your own arm to recordings",
    "excite": "find an exciting trajectory for identification, within the arm's limits",
    "simulate": "record a simulated Panda on an exciting motion",
    "convert": "convert a log of another program to a rosbag2",
    "base-parameters": "print the minimum inertial parameters, with their closed forms",
    "inertia": "print the inertial parameters of every link, also in the base frame",
    "export": "write stand-alone C or Python source of an arm's dynamics",
    "pose": "convert between pose formats, or print the arm's pose",
    "warm-up": "compile what the nodes need, so that they start quickly",
}
# One or several numbers that begin with a minus: argparse takes -1e-3 and -1,2 for options.
NEGATIVE = re.compile(r"-(\.?\d|inf|nan)[\d.eE,;+\s\-infa]*")
OTHER_ERROR, INTERRUPTED, BROKEN_PIPE = 2, 130, 141  # the last two as shells count signals


class Parser(argparse.ArgumentParser):
    """A parser whose errors are one line."""

    def error(self, message: str) -> NoReturn:
        """Say what was wrong and where help is, and leave."""
        self.exit(OTHER_ERROR, f"{self.prog}: error: {printable(message)} (see {self.prog} --help)\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run a sub-command.

    argv: arguments without the program's name; those of the process where left out.
    Returns the exit code: 0, or 2 after an error in one line on standard error, 3 of `replay --strict`, 130 after
        Ctrl-C or SIGTERM, 141 where the reader of standard output went away.
    """
    os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")  # as nodes/__init__.py does, for the same reason
    os.environ["MPLBACKEND"] = "agg"  # pictures go to files; a notebook's backend need not be installed here
    sys.stdout, sys.stderr = sys.stdout or io.StringIO(), sys.stderr or io.StringIO()  # None where they are closed
    is_main = threading.current_thread() is threading.main_thread()
    for number in (signal.SIGTERM, signal.SIGHUP):  # end as by Ctrl-C: nothing half written stays, no node goes on
        if is_main and signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)
    for stream in (sys.stdout, sys.stderr):  # names of files may be no text
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")
    arguments = [f" {word}" if NEGATIVE.fullmatch(word) else word for word in (sys.argv[1:] if argv is None else argv)]
    with warnings.catch_warnings():
        warnings.showwarning = lambda message, *_, **__: _say("warning", message)
        # A file's name in the title of a picture: the boxes there are enough.
        warnings.filterwarnings("ignore", "Glyph .* missing from font")
        try:
            if named := next((word for word in arguments if word.startswith("--") and exists(Path(word))), None):
                # A shell has put it in place of *: a stranger's `--scheduler=..` would be obeyed.
                raise ArgumentError(f"expected an option, got a file of this folder: write ./{named} for it")
            args, unknown = _parser(arguments).parse_known_args(arguments)
            if unknown:
                args.parser.error(f"unrecognized arguments: {' '.join(unknown)}")
            code = int(args.run(args) or 0)
            sys.stdout.flush()
            return code
        except SystemExit as leaving:  # argparse after --help, --version or an error
            return leaving.code if isinstance(leaving.code, int) else 0
        except PandaDynamicsError as error:
            _say("error", error)
        except KeyboardInterrupt:
            print(f"{PROGRAM}: interrupted", file=sys.stderr)
            return INTERRUPTED
        except BrokenPipeError:
            # What is buffered would fail again when the interpreter closes.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return BROKEN_PIPE
        except OSError as error:
            if error.errno is None:  # not of the operating system
                raise
            where = "" if error.filename is None else f"{error.filename}: "  # a full disk comes without a name
            _say("error", f"{where}{error.strerror}")
        return OTHER_ERROR


def _parser(arguments: Sequence[str]) -> argparse.ArgumentParser:
    from panda_dynamics_ros import __version__

    parser = Parser(prog=PROGRAM, description="Dynamics and payload estimation for the Franka Panda, FER and FR3.")
    parser.add_argument("--version", action="version", version=f"{PROGRAM} {__version__}")
    subparsers = parser.add_subparsers(metavar="COMMAND", required=True)
    wanted = next((word for word in arguments if not word.startswith("-")), None)
    for name, summary in COMMANDS.items():
        command = subparsers.add_parser(name, help=summary, formatter_class=argparse.RawDescriptionHelpFormatter)
        if name == wanted:
            module = importlib.import_module(f"{__name__}.{name.replace('-', '_')}")
            command.description = f"{summary[0].upper()}{summary[1:]}."
            command.epilog = "\n  ".join(["examples:", *module.EXAMPLES.splitlines()])
            command.set_defaults(run=module.run, parser=command)
            options.add(command, [*module.OPTIONS, options.JSON])
    return parser


def _say(kind: str, message: object) -> None:
    print(f"{PROGRAM}: {kind}: {printable(' '.join(str(message).split())):.2000}", file=sys.stderr)
