"""Where a server saturates: callers at once that it just keeps up with."""

from dataclasses import replace

from bench.load.step import Plan, run_step
from bench.under_test import Server

FIRST_CALLERS = 4
MAX_CALLERS = 2048
LEAST_GAIN = 1.1
"""Twice the callers that give less than this many times the tokens are too many."""
WARM_SECONDS = 1.0
SECONDS = 2.0


def best_of_ramp(server: Server, plan: Plan) -> float:
    """Double the callers until it does not help; return the best rate, in tokens per second."""
    short = replace(plan, warm_seconds=min(plan.warm_seconds, WARM_SECONDS), seconds=min(plan.seconds, SECONDS))
    best, callers = 0.0, FIRST_CALLERS
    while callers <= MAX_CALLERS:
        rate = run_step(server, short, callers).seen.goodput
        if rate < LEAST_GAIN * best:
            return max(best, rate)
        best, callers = rate, 2 * callers
    return best


def callers_at(rate: float, plan: Plan) -> int:
    """Return how many callers make so many tokens per second, if none waits (Little's law)."""
    return max(1, round(rate * plan.timing.seconds / plan.timing.tokens))
