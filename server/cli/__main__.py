"""`python -m headworks.server.cli`, for where the script is not on the path."""

from headworks.server.cli.app import main

main()
