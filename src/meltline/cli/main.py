"""The command `meltline`."""

from __future__ import annotations

import argparse
import sys
import traceback
from collections.abc import Sequence
from pathlib import Path

from meltline import __version__
from meltline.cli.run import run
from meltline.cli.status import status
from meltline.cli.validate import validate
from meltline.errors import MeltlineError
from meltline.redact import redact

_EXAMPLE = """\
examples:
  meltline validate orders.yaml          check a pipeline file
  meltline run orders.yaml --once        take everything there is now, publish it, end
  meltline run orders.yaml               run until SIGTERM or Ctrl-C
  meltline status orders.yaml --json     what every lane has done
"""


def parser() -> argparse.ArgumentParser:
    top = argparse.ArgumentParser(
        prog="meltline", epilog=_EXAMPLE, formatter_class=argparse.RawDescriptionHelpFormatter,
        description="Moves change data into and out of Apache Iceberg, exactly once.")
    top.add_argument("--version", action="version", version=f"meltline {__version__}")
    commands = top.add_subparsers(dest="command", metavar="COMMAND", required=True)

    one = _command(commands, "run", "run the pipelines of a file",
                   "meltline run orders.yaml --once")
    one.add_argument("--once", action="store_true",
                     help="take everything available now, publish it, and end")
    one.add_argument("--metrics-port", type=int, metavar="PORT",
                     help="serve Prometheus metrics on this loopback port")
    one.add_argument("--log-format", choices=("text", "json"), default="text",
                     help="log lines for people, or one JSON object per line")
    one.add_argument("--log-level", choices=("DEBUG", "INFO", "WARNING", "ERROR"), default="INFO")
    one.set_defaults(call=run)

    two = _command(commands, "validate", "check a pipeline file without running it",
                   "meltline validate orders.yaml")
    two.set_defaults(call=validate)

    three = _command(commands, "status", "show what every lane has done",
                     "meltline status orders.yaml --json")
    three.add_argument("--json", action="store_true", help="one JSON document, for scripts")
    three.set_defaults(call=status)
    return top


def _command(
    commands: argparse._SubParsersAction[argparse.ArgumentParser],
    name: str, text: str, example: str,
) -> argparse.ArgumentParser:
    command = commands.add_parser(
        name, help=text, description=text[0].upper() + text[1:] + ".",
        epilog=f"example:\n  {example}", formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("file", type=Path, metavar="FILE", help="the pipeline file (YAML)")
    command.add_argument("--pipeline", metavar="NAME", help="only this pipeline of the file")
    return command


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 done, 1 failed while running, 2 a mistake in the configuration."""
    options = parser().parse_args(arguments)
    try:
        return int(options.call(options))
    except MeltlineError as error:
        print(f"error: {redact(str(error))}", file=sys.stderr)
        return error.exit_code
    except KeyboardInterrupt:
        return 130
    except Exception:  # noqa: BLE001
        print(redact(traceback.format_exc()), file=sys.stderr)
        print("error: this is a bug in meltline; the lines above tell where", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
