"""Run the command line as `python -m headworks.server.cli`, where the script is not on the path."""

from headworks.server.cli import main

main()
