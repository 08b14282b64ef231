"""What the load costs the one who makes it."""

import asyncio

from bench.virtual_time import LoopClock, run_in_virtual_time
from headworks.server.load.strain import SAMPLE_SECONDS, StrainMeter


def test_a_busy_process_is_measured_in_cores() -> None:
    """CPU over time, of the process and of the loop's own thread."""
    spent = {"process": 5.0, "thread": 3.0}

    async def work() -> None:
        meter = StrainMeter(LoopClock(), lambda: spent["process"], lambda: spent["thread"])
        await asyncio.sleep(100)
        meter.begin()
        await asyncio.sleep(10)
        spent.update(process=20.0, thread=12.5)
        strain = meter.read()
        assert (strain.cpu_cores, strain.loop_share, strain.lag_p99) == (1.5, 0.95, None)

    run_in_virtual_time(work())


def test_the_loops_lag_is_what_a_timer_was_late() -> None:
    """A loop that is late reads every answer late."""

    class Late(LoopClock):
        async def sleep(self, seconds: float) -> None:
            await asyncio.sleep(seconds + 0.1)

    async def work() -> None:
        meter = StrainMeter(Late(), lambda: 0.0, lambda: 0.0)
        watching = asyncio.create_task(meter.watch())
        await asyncio.sleep(100 * SAMPLE_SECONDS)
        watching.cancel()
        lag = meter.read().lag_p99
        assert lag is not None
        assert 0.098 < lag < 0.102

    run_in_virtual_time(work())
