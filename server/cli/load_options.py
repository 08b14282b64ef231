"""The options of `load`. The help of each says what it is for, its unit and its default."""

from pathlib import Path
from typing import Annotated

import typer

from headworks.server.load.settings import Arrivals, LoadSettings

DEFAULTS = LoadSettings()

ArrivalKind = Annotated[
    Arrivals,
    typer.Option(
        "--arrivals",
        help="open: turns arrive by chance at a rate, whatever became of the ones before. closed: a number of callers "
        "send one turn after the other.",
    ),
]
First = Annotated[
    float,
    typer.Option(
        "--from",
        metavar="LEVEL",
        min=0.01,
        max=10_000.0,
        help="The ramp's first level, in turns a second (open) or callers (closed).",
    ),
]
Last = Annotated[
    float,
    typer.Option(
        "--to",
        metavar="LEVEL",
        min=0.01,
        max=10_000.0,
        help="The ramp's last level. Past the knee the load goes on to --past times the knee.",
    ),
]
Finer = Annotated[
    int,
    typer.Option("--finer", metavar="COUNT", min=0, max=10, help="Steps that narrow the knee down after the ramp."),
]
PastKnee = Annotated[
    list[float],
    typer.Option(
        "--past",
        metavar="FACTOR",
        min=1.01,
        max=16.0,
        help="How many times the knee is offered once it is found; may be given several times.",
    ),
]
WarmUp = Annotated[
    float,
    typer.Option(
        "--warm-up", metavar="SECONDS", min=0.0, max=600.0, help="Of each step, before its turns begin to count."
    ),
]
WindowLength = Annotated[
    float,
    typer.Option("--window", metavar="SECONDS", min=0.1, max=600.0, help="Of each step, in which its turns count."),
]
Deadline = Annotated[
    float,
    typer.Option(
        "--deadline",
        metavar="SECONDS",
        min=0.05,
        max=600.0,
        help="A turn must have finished so long after it was due; only then its tokens are goodput.",
    ),
]
PromptWords = Annotated[
    str,
    typer.Option(
        "--prompt-words",
        metavar="LENGTH",
        help="Words of a prompt, about a token each: 32, uniform:16:256, or lognormal:64:0.8 (median and sigma).",
    ),
]
AnswerTokens = Annotated[
    str,
    typer.Option("--answer-tokens", metavar="LENGTH", help="The most tokens of an answer; written as --prompt-words."),
]
MixFile = Annotated[
    Path | None,
    typer.Option(
        "--mix",
        metavar="FILE",
        help="Tenants in TOML, a list of tables named tenants: name, share, api_key, prompt_words, answer_tokens. "
        "None by default: one tenant, with --api-key.",
    ),
]
Retries = Annotated[
    int,
    typer.Option(
        "--retries",
        metavar="COUNT",
        min=0,
        max=10,
        help="How often a refused turn is tried again, when the server says and inside its deadline.",
    ),
]
IgnoreRetryInfo = Annotated[
    bool,
    typer.Option(
        "--ignore-retry-info",
        help="Do as bad clients do: a refused turn is not tried again, and its caller goes on at once. Off by default.",
    ),
]
Seed = Annotated[int, typer.Option("--seed", metavar="NUMBER", help="Of lengths, tenants and arrivals.")]
MaxTurns = Annotated[
    int, typer.Option("--max-turns", metavar="COUNT", min=1, max=10_000_000, help="The run ends after so many turns.")
]
MaxSeconds = Annotated[
    float,
    typer.Option("--max-seconds", metavar="SECONDS", min=0.1, max=86_400.0, help="The run ends after this long."),
]
MaxOpen = Annotated[
    int,
    typer.Option(
        "--max-open",
        metavar="COUNT",
        min=1,
        max=100_000,
        help="Turns at once; one more is not sent, and counted as unsent.",
    ),
]
Connections = Annotated[
    int,
    typer.Option(
        "--connections",
        metavar="COUNT",
        min=1,
        max=256,
        help="Connections of each tenant. A server takes a bounded number of calls on one; the rest would wait unseen.",
    ),
]
Metrics = Annotated[
    str | None,
    typer.Option(
        "--metrics",
        metavar="URL",
        help="The server's metrics, as in http://127.0.0.1:8080/metrics: its gauges tell of limits that do not refuse. "
        "None by default.",
    ),
]
JsonFile = Annotated[
    Path | None,
    typer.Option("--json", metavar="FILE", help="Write everything that was seen as JSON. None by default."),
]
PictureFile = Annotated[
    Path | None,
    typer.Option("--picture", metavar="FILE", help="Draw the curves into an SVG file. None by default."),
]
MayLoad = Annotated[
    bool,
    typer.Option(
        "--i-may-load-this-address",
        help="Load a target that is not this machine; say so only if its operator agreed. Off by default.",
    ),
]
