"""A run in words and as JSON. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from headworks.server.load.findings import Findings, FirstLimit, Met, Past
from headworks.server.load.mix import Tenant
from headworks.server.load.moment import Moment
from headworks.server.load.session import End, Run
from headworks.server.load.settings import Arrivals, LoadSettings
from headworks.server.load.step import Phase, StepResult
from headworks.server.load.tally import Figures

FORM = 1
"""Of the JSON; a field that changes its meaning raises it."""


@dataclass(frozen=True, slots=True)
class Report:
    """Everything that is told of one run."""

    target: str
    settings: LoadSettings
    tenants: tuple[Tenant, ...]
    retries: int | None
    """Tries again after a refusal with RetryInfo; None where RetryInfo is ignored."""
    event_loop: str
    """What drove this client: "uvloop" or "asyncio"."""
    run: Run
    findings: Findings

    def level(self, value: float) -> str:
        """Write a level with its unit."""
        return level_in_words(self.settings.arrivals, value)

    def sentences(self) -> Iterator[str]:
        """Say what was found, the most important first."""
        yield self._knee()
        if (met := self.findings.first_limit) is not None:
            yield from self._first_limit(met)
        elif self.run.results:
            yield "Met first: nothing; no limit refused a turn, and every level held."
        for past in self.findings.past:
            yield self._past(past) if past.phase is Phase.PAST else self._recovery(past.goodput_share)
        if (refusal := self.run.total.refusal_p99) is not None:
            yield f"A refusal came within {refusal * 1000:,.1f} ms of its call (p99)."
        if self.findings.client_limited:
            levels = ", ".join(self.level(value) for value in self.findings.client_limited)
            yield f"The client itself was the limit at {levels}: figures there are not the server's alone."
        if self.run.failed_gauge_reads:
            yield f"{self.run.failed_gauge_reads} of {self.run.gauge_reads} reads of the server's metrics failed."
        if self.run.end is not End.COMPLETE:
            yield f"The run ended before its plan did: {self.run.end.value}."

    def fields(self) -> dict[str, Any]:
        """Return all of it for JSON: times in seconds, rates per second."""
        findings = self.findings
        return {
            "form": FORM,
            "target": self.target,
            "settings": asdict(self.settings),
            "tenants": [_tenant_fields(tenant) for tenant in self.tenants],
            "retries": self.retries,
            "event_loop": self.event_loop,
            "end": self.run.end,
            "seconds": self.run.seconds,
            "summary": list(self.sentences()),
            "knee": asdict(findings.knee) if findings.knee else None,
            "first_limit": asdict(findings.first_limit) if findings.first_limit else None,
            "past": [asdict(past) for past in findings.past],
            "recovery_seconds": findings.recovery_seconds,
            "client_limited_at": findings.client_limited,
            "total": _figures_fields(self.run.total),
            "steps": [_step_fields(result) for result in self.run.results],
            "gauge_reads": {"made": self.run.gauge_reads, "failed": self.run.failed_gauge_reads},
            "moments": [_moment_fields(moment) for moment in self.run.moments],
        }

    def _knee(self) -> str:
        knee, results = self.findings.knee, [result for result in self.run.results if result.is_whole]
        if not results:
            return "Critical point: not known, because the run ended within its first step."
        if knee is None:
            first = min(results, key=lambda result: result.step.level)
            return (
                f"Critical point: below {self.level(first.step.level)}, where only {first.figures.good_share:.0%} of "
                "the turns finished inside their deadline; start lower with --from, or allow more with --deadline."
            )
        if not knee.is_reached:
            return (
                f"Critical point: not reached; {self.level(knee.level)} held with {knee.goodput:,.0f} tokens/s of "
                "goodput, and nothing higher was tried."
            )
        return (
            f"Critical point: {self.level(knee.level)}, with {knee.goodput:,.0f} tokens/s of goodput; "
            "more load brings no more."
        )

    def _first_limit(self, met: FirstLimit) -> Iterator[str]:
        where = f"at {self.level(met.level)}, where {met.share:.1%} of the turns came to nothing"
        match met.met:
            case Met.REFUSAL:
                yield f"Met first: {met.name}, which refused {where}."
            case Met.DEADLINE:
                limit = f"{met.name} ended turns" if met.name else "the deadline passed"
                yield f"Met first: no limit that refuses; {limit} {where}."
            case Met.FAILURE:
                yield f"Met first: failures ({met.name}), {where}."
            case Met.CLIENT:
                yield f"Met first: this client's own bounds, {where}."
        if met.signs:
            yield f"The server's gauges there: {'; '.join(met.signs)}."
        if met.is_client_limit and met.met is not Met.CLIENT:
            yield "There the client itself was at its limit, so the server's may lie higher."

    def _past(self, past: Past) -> str:
        return (
            f"At {past.factor:.2g} times the knee goodput is {past.goodput_share:.0%} of the knee's. Of the turns "
            f"{past.good_share:.0%} finished, {past.refused_share:.0%} were refused, {past.late_share:.0%} were late "
            f"and {past.failed_share:.0%} failed."
        )

    def _recovery(self, goodput_share: float) -> str:
        seconds = self.findings.recovery_seconds
        when = f"recovered within {seconds:.0f} s" if seconds is not None else "did not recover within the step"
        return f"Back at the knee the server {when}; goodput there is {goodput_share:.0%} of what it was."


def level_in_words(arrivals: Arrivals, value: float) -> str:
    """Write a level with its unit."""
    if arrivals is Arrivals.OPEN:
        return f"{value:g} turns/s"
    return "1 caller" if value == 1 else f"{value:g} callers"


def _tenant_fields(tenant: Tenant) -> dict[str, Any]:
    """Leave the key out."""
    return {
        "name": tenant.name,
        "share": tenant.share,
        "prompt_words": str(tenant.prompt_words),
        "answer_tokens": str(tenant.answer_tokens),
    }


def _figures_fields(figures: Figures) -> dict[str, Any]:
    fields = asdict(figures)
    fields["counts"] = {state.value: count for state, count in figures.counts.items()}
    fields["reasons"] = [{"state": state, "why": why, "turns": count} for state, why, count in figures.reasons]
    fields["refusals"] = [{"limit": limit, "tries": count} for limit, count in figures.refusals]
    return {**fields, "good_share": figures.good_share}


def _step_fields(result: StepResult) -> dict[str, Any]:
    return {
        "phase": result.step.phase,
        "level": result.step.level,
        "started_seconds": result.started_seconds,
        "seconds": result.seconds,
        "is_whole": result.is_whole,
        "is_client_limit": result.is_client_limit,
        "client": asdict(result.strain),
        "gauges": dict(result.gauges),
        **_figures_fields(result.figures),
        "tenants": {name: _figures_fields(figures) for name, figures in result.tenants},
    }


def _moment_fields(moment: Moment) -> Mapping[str, Any]:
    step = moment.step
    fields = asdict(moment)
    fields["step"] = {"phase": step.phase, "level": step.level} if step else None
    return fields
