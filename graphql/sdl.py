"""Print the subgraph's SDL, for registries and routers: `python -m headworks.graphql.sdl > schema.graphql`."""

import sys

from headworks.graphql.roots import build_schema
from headworks.graphql.settings import GraphqlSettings


def subgraph_sdl() -> str:
    """Return the SDL, with one newline at its end; settings do not change it."""
    return build_schema(GraphqlSettings()).as_str().rstrip() + "\n"


if __name__ == "__main__":
    sys.stdout.write(subgraph_sdl())
