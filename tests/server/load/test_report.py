"""What a run is told as: sentences, JSON, a picture."""

import json
import re
from collections.abc import Sequence
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from headworks.server.cli.as_json import plain
from headworks.server.load.findings import findings_of, recovery_seconds
from headworks.server.load.mix import Tenant
from headworks.server.load.moment import moment_of
from headworks.server.load.picture import picture
from headworks.server.load.report import Report
from headworks.server.load.session import End, Run
from headworks.server.load.settings import Arrivals, LoadSettings
from headworks.server.load.step import Phase, Step, StepResult, Strain
from headworks.server.load.tally import Ending, State, Tally
from tests.server.load.curves import result, walk

SETTINGS = LoadSettings(last_level=64.0)
BUSY = Strain(1.1, 0.97, 0.2)


def report(
    results: Sequence[StepResult], end: End = End.COMPLETE, settings: LoadSettings = SETTINGS, failed_reads: int = 0
) -> Report:
    run = Run(tuple(results), (), Tally().figures(1.0), 60.0, end, 10, failed_reads)
    tenants = (Tenant("all", api_key="secret"),)
    return Report("127.0.0.1:50051", settings, tenants, 2, "uvloop", run, findings_of(run, settings))


def told(results: Sequence[StepResult], end: End = End.COMPLETE, failed_reads: int = 0) -> str:
    return " ".join(report(results, end, failed_reads=failed_reads).sentences())


def step(level: float, phase: Phase = Phase.RAMP) -> Step:
    return Step(phase, level)


def test_the_knee_and_what_happens_past_it_are_told() -> None:
    """An operator reads four sentences before the table."""
    words = told(walk(SETTINGS, lambda level: min(level, 10.0)))
    assert "Critical point: 9.51 turns/s, with 95 tokens/s of goodput; more load brings no more." in words
    assert "At 2 times the knee goodput is 105% of the knee's." in words
    assert "Back at the knee the server did not recover within the step" in words


def test_a_refusal_names_the_limit_that_was_met_first() -> None:
    """The one of the lowest level, in whichever order the levels came."""
    refused = Ending(State.REFUSED, "flow.max_waiting")
    words = told(
        [
            result(step(4), 4, 4),
            result(step(16), 8, 16, lost=refused, refusals=["flow.max_waiting"]),
            result(step(8, Phase.SEARCH), 7.8, 8, refusals=["flow.max_turns"], gauges={"headworks_turns_waiting": 9.0}),
        ]
    )
    assert "Met first: flow.max_turns, which refused at 8 turns/s, where 2.5% of the turns came to nothing." in words
    assert "turns stood in line for a permit (headworks_turns_waiting reached 9)" in words


@pytest.mark.parametrize(
    ("lost", "words"),
    [
        (Ending(State.LATE), "Met first: no limit that refuses; the deadline passed at 8 turns/s"),
        (Ending(State.LATE, "turn.max_seconds"), "no limit that refuses; turn.max_seconds ended turns at 8"),
        (Ending(State.FAILED, "UNAVAILABLE"), "Met first: failures (UNAVAILABLE), at 8 turns/s"),
        (Ending(State.UNSENT, "too many open turns"), "Met first: this client's own bounds, at 8 turns/s"),
    ],
)
def test_what_is_met_without_a_refusal_is_told_too(lost: Ending, words: str) -> None:
    """Most servers have no limit that names itself."""
    assert words in told([result(step(4), 4, 4), result(step(8), 4, 8, lost=lost)])


def test_a_client_at_its_limit_is_told() -> None:
    """Its figures would be read as the server's."""
    words = told([result(step(4), 4, 4), result(step(8), 4, 8, strain=BUSY)])
    assert "There the client itself was at its limit" in words
    assert "The client itself was the limit at 8 turns/s" in words
    assert "The client itself" not in told([result(step(4), 4, 4)])


@pytest.mark.parametrize(
    ("results", "end", "words"),
    [
        ([], End.INTERRUPTED, "Critical point: not known, because the run ended within its first step."),
        ([replace(result(step(4), 4, 4), is_whole=False)], End.INTERRUPTED, "Critical point: not known"),
        ([result(step(4), 4, 4)], End.MAX_TURNS, "The run ended before its plan did: the bound on turns was reached."),
        ([result(step(4), 4, 4)], End.COMPLETE, "Critical point: not reached; 4 turns/s held with 40 tokens/s"),
        ([result(step(4), 1, 4)], End.COMPLETE, "Critical point: below 4 turns/s, where only 25% of the turns"),
        ([result(step(4), 4, 4)], End.COMPLETE, "Met first: nothing"),
    ],
)
def test_a_run_without_a_knee_says_why(results: list[StepResult], end: End, words: str) -> None:
    """And how to get one."""
    assert words in told(results, end)


def test_the_server_is_back_with_the_first_good_second() -> None:
    """Counted from when the load was back at the knee; what was good before that does not count."""
    seconds = [(Phase.PAST, 9, 0), (Phase.BACK, 0, 5), (Phase.BACK, 5, 5), (Phase.BACK, 10, 1), (Phase.BACK, 9, 0)]
    moments = []
    for at, (phase, good, lost) in enumerate(seconds, 1):
        tally = Tally()
        for state in [State.FINISHED] * good + [State.LATE] * lost:
            tally.note_end(Ending(state))
        moments.append(moment_of(at, 1.0, step(4, phase), tally, open_turns=0))
    assert recovery_seconds(moments) == 3
    assert recovery_seconds(moments[:3]) is None


def test_reads_of_the_metrics_that_failed_are_told() -> None:
    """A gauge that was not read showed nothing."""
    assert "3 of 10 reads of the server's metrics failed." in told([result(step(4), 4, 4)], failed_reads=3)


def test_the_json_holds_every_step_and_no_key() -> None:
    """A program plots it; a key must not get into a file that is passed on."""
    results = walk(SETTINGS, lambda level: min(level, 10.0))
    text = json.dumps(plain(report(results).fields()), allow_nan=False)
    fields = json.loads(text)
    assert [one["level"] for one in fields["steps"]] == [one.step.level for one in results]
    assert fields["steps"][0]["counts"]["finished"] == 10
    assert (fields["knee"]["level"], fields["first_limit"]["met"]) == (9.51, "deadline")
    assert fields["settings"]["arrivals"] == "open"
    assert "secret" not in text


@pytest.mark.parametrize("arrivals", Arrivals)
@pytest.mark.parametrize("rate", [10.0, 1000.0, 0.0])
def test_the_picture_has_axes_units_a_legend_and_the_knee(arrivals: Arrivals, rate: float) -> None:
    """Whatever was found; every number in it can be drawn."""
    settings = replace(SETTINGS, arrivals=arrivals)
    results = walk(settings, lambda level: min(level, rate))
    drawn = picture(report(results, settings=settings))
    root = ElementTree.fromstring(drawn)  # noqa: S314  # our own
    words = [text.text or "" for text in root.iter("{http://www.w3.org/2000/svg}text")]
    label = "turns offered per second" if arrivals is Arrivals.OPEN else "callers at once"
    for word in (label, "Times, from the moment a turn was due, ms", "goodput", "refused by a limit"):
        assert word in words
    assert ("knee" in words) == (rate == 10.0)
    assert "prefers-color-scheme: dark" in drawn
    assert not re.search(r"\b(nan|inf)\b", drawn)


def test_the_picture_of_nothing_is_a_picture() -> None:
    """A run that was interrupted at once still writes its files."""
    drawn = picture(report([], End.INTERRUPTED))
    assert ElementTree.fromstring(drawn).tag.endswith("svg")  # noqa: S314  # our own
