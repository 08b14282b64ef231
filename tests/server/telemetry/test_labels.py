"""The number of time series stays bounded, whoever calls."""

from prometheus_client import CollectorRegistry, generate_latest

from headworks.policy.identity.caller import AuthenticatedBy, Caller
from headworks.server.telemetry.labels import OTHER, LabelCap, largest
from headworks.server.telemetry.metrics import TurnMetrics
from headworks.server.telemetry.settings import TelemetrySettings
from headworks.server.turn.record import Outcome, SilentObserver, TurnRecord
from headworks.server.visit.visit import Visit
from tests.fakes.clocks import HandClock

TENANTS = 100_000
SHOWN = 50


def ended_turn(tenant: str) -> TurnRecord:
    caller = Caller(tenant, "", AuthenticatedBy.API_KEY)
    visit = Visit(caller, is_encrypted=True, is_loopback=True, trace_headers={}, peer="")
    record = TurnRecord("t", visit, "model", SilentObserver(), HandClock())
    record.fed(3)
    record.answered(2)
    record.ended(Outcome.FINISHED)
    return record


def test_a_hundred_thousand_tenants_make_no_more_series_than_the_cap() -> None:
    """Tenants come from callers' tokens; Prometheus keeps each series for hours, and so would this process.

    Whoever has no series of its own is counted all the same.
    """
    registry = CollectorRegistry()
    metrics = TurnMetrics(registry, TelemetrySettings(max_tenants_shown=SHOWN))
    metrics.turn_finished(ended_turn("first"))
    before = len(generate_latest(registry).splitlines())
    for number in range(TENANTS):
        metrics.turn_finished(ended_turn(f"tenant-{number}"))
    page = generate_latest(registry).decode()
    assert len(page.splitlines()) - before <= SHOWN * 2 * 2
    counted = registry.get_sample_value("headworks_tenant_tokens_total", {"tenant": OTHER, "direction": "input"})
    assert counted == 3 * (TENANTS + 1 - SHOWN)
    assert registry.get_sample_value("headworks_tokens_total", {"direction": "output"}) == 2 * (TENANTS + 1)


def test_a_label_once_given_is_kept() -> None:
    """A counter that changed its series would seem to fall."""
    cap = LabelCap(2)
    assert [cap.label(name) for name in "abcab"] == ["a", "b", OTHER, "a", "b"]


def test_a_long_name_is_cut() -> None:
    """A tenant may be named by a token's claim."""
    assert len(LabelCap(1).label("x" * 10_000)) == 64
    assert [len(name) for name in largest({"x" * 10_000: 1.0}, 1)] == [64]


def test_the_largest_values_of_a_hundred_thousand_are_shown() -> None:
    """They are whom an operator looks for."""
    shown = largest({f"tenant-{number}": float(number) for number in range(TENANTS)}, SHOWN)
    assert len(shown) == SHOWN + 1
    assert min(shown.values()) == shown[OTHER] == TENANTS - SHOWN - 1


def test_nobody_is_other_while_there_is_room() -> None:
    """An empty series would say that somebody was left out."""
    assert largest({"a": 1.0, "b": 2.0}, 2) == {"b": 2.0, "a": 1.0}
    assert largest({}, 2) == {}
    assert largest({"a": 1.0}, 0) == {OTHER: 1.0}
