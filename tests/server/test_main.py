"""The gateway in this process, as `main.py` builds it."""

import asyncio
import gc
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from headworks.intake.models.store import ModelStore
from headworks.server.main.gateway import Gateway
from headworks.server.settings import load


@asynccontextmanager
async def frozen_gateway(store: ModelStore) -> AsyncIterator[None]:
    """Run one, with the timing model, until it has left its start-up out of collections; undo that in the end."""
    overrides = {"models.store": store.root, "engine.kind": "simulated", "rpc.port": 0, "http.port": 0}
    gateway = Gateway(load(overrides=overrides | {"drain.grace_seconds": 0}, environment={}))
    thresholds = gc.get_threshold()
    running = asyncio.create_task(gateway.run())
    try:
        async with asyncio.timeout(120):
            while not gc.get_freeze_count() and not running.done():  # noqa: ASYNC110  # the collector tells no one
                await asyncio.sleep(0.05)
        yield
    finally:
        gateway.stop()
        await running
        gc.unfreeze()
        gc.set_threshold(*thresholds)


@pytest.mark.models
async def test_start_up_is_left_out_of_full_collections(store: ModelStore) -> None:
    """A pass over all that the models and their libraries made would stop every turn, and health with them."""
    async with frozen_gateway(store):
        assert gc.get_freeze_count() > 10 * len(gc.get_objects())
