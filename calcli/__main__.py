"""`python -m calcli` is the command `calcli`."""

from calcli.cli.main import run

run()
