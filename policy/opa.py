"""The judge that asks an OPA server over its REST data API, through opa-python-client.

Source: OPA documentation, "REST API", sections "Get a Document (with Input)", "Provenance" and "Health API".
"""

import asyncio
import ssl
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager
from typing import Any

import aiohttp
from opa_client import AsyncOpaClient  # type: ignore[import-untyped]

from headworks.policy.answer import OddAnswer, parse_json, verdict_from
from headworks.policy.decision import new_decision_id
from headworks.policy.errors import JudgeUnavailable, NoVerdict
from headworks.policy.probe import probe_question
from headworks.policy.question import Question
from headworks.policy.question_input import encode_question, question_input
from headworks.policy.settings import OpaSettings
from headworks.policy.verdict import Verdict

NAME = "opa"
MAX_REVISION_CHARACTERS = 256
"""A revision is a digest or a version, which fits well; what is longer is cut."""


class OpaJudge:
    """Answers by asking an OPA server. It may be asked many questions at once."""

    def __init__(self, settings: OpaSettings) -> None:
        self._settings = settings
        self._client: _BoundedClient | None = None
        self._opening = asyncio.Lock()
        self._is_closed = False

    async def judge(self, question: Question) -> Verdict:
        """See `Judge`. A connection that the server closed while idle is replaced once, within the time limit."""
        decision_id = new_decision_id()
        try:
            encode_question(question, self._settings.max_question_bytes)
            async with asyncio.timeout(self._settings.timeout_seconds):
                reply = await self._ask(question, decision_id)
        except TimeoutError as error:
            raise JudgeUnavailable(NoVerdict.SLOW, decision_id) from error
        except (
            aiohttp.ClientConnectionError,
            ssl.SSLError,
        ) as error:  # before ValueError, which a bad certificate is too
            raise JudgeUnavailable(NoVerdict.DOWN, decision_id) from error
        except (OddAnswer, ValueError, aiohttp.ClientPayloadError) as error:
            raise JudgeUnavailable(NoVerdict.ODD, decision_id) from error
        except aiohttp.ClientResponseError as error:
            raise JudgeUnavailable(_reason_of(error.status), decision_id) from error
        except (aiohttp.ClientError, OSError) as error:
            raise JudgeUnavailable(NoVerdict.DOWN, decision_id) from error
        if not isinstance(reply, dict):
            raise JudgeUnavailable(NoVerdict.ODD, decision_id)
        if "result" not in reply:
            raise JudgeUnavailable(NoVerdict.UNDEFINED, decision_id)
        return verdict_from(reply["result"], judge=NAME, decision_id=decision_id, revision=_revision(reply))

    async def warm(self) -> None:
        """See `Judge`. Waits until the server is healthy with its bundles active, then asks about nobody."""
        try:
            async with asyncio.timeout(self._settings.warm_timeout_seconds):
                client = await self._open(new_decision_id())
                # Nothing here tells when the server has become healthy, so it is asked again and again.
                while not await client.check_health({"bundles": "true"}):  # noqa: ASYNC110
                    await asyncio.sleep(self._settings.poll_seconds)
        except OSError as error:  # TimeoutError and SSLError too
            raise JudgeUnavailable(NoVerdict.DOWN, new_decision_id()) from error
        await self.judge(probe_question())

    async def close(self) -> None:
        """See `Judge`."""
        self._is_closed = True
        client, self._client = self._client, None
        if client is not None:
            await client.close_connection()

    async def _ask(self, question: Question, decision_id: str) -> object:
        client = await self._open(decision_id)
        for is_last in (False, True):
            try:
                reply: object = await client.query_rule(
                    question_input(question), self._settings.package, self._settings.rule, {"provenance": "true"}
                )
            except (aiohttp.ServerDisconnectedError, aiohttp.ClientOSError, ConnectionResetError):
                if is_last:
                    raise
            else:
                return reply
        raise AssertionError("unreachable")

    async def _open(self, decision_id: str) -> "_BoundedClient":
        async with self._opening:
            if self._is_closed:
                raise JudgeUnavailable(NoVerdict.DOWN, decision_id)
            if self._client is None:
                client = _BoundedClient(self._settings)
                await client._init_session()
                self._client = client
            return self._client


class _BoundedClient(AsyncOpaClient):  # type: ignore[misc]
    """opa-python-client with our TLS, our pool, no redirects, and replies that end at a limit.

    The session that opa-python-client makes trusts the system's authorities only and reads replies of any length.
    """

    def __init__(self, settings: OpaSettings) -> None:
        super().__init__(
            host=settings.host,
            port=settings.port,
            ssl=settings.is_tls,
            token=settings.token or None,
            retries=0,
            timeout=settings.timeout_seconds,
        )
        self._settings = settings

    async def _init_session(self) -> None:
        settings = self._settings
        context: ssl.SSLContext | bool = True
        if settings.is_tls:
            context = await asyncio.to_thread(_tls_context, settings)
        self._session = aiohttp.ClientSession(
            headers={**(self.headers or {}), "Accept-Encoding": "identity"},
            connector=aiohttp.TCPConnector(
                ssl=context, limit=settings.max_connections, keepalive_timeout=settings.idle_connection_seconds
            ),
            timeout=aiohttp.ClientTimeout(total=settings.timeout_seconds),
            response_class=_bounded_response(settings.max_answer_bytes),
            auto_decompress=False,
        )

    def _request(
        self, method: str, url: str, **options: Any
    ) -> AbstractAsyncContextManager[AsyncIterator[aiohttp.ClientResponse]]:
        requested: AbstractAsyncContextManager[AsyncIterator[aiohttp.ClientResponse]]
        requested = super()._request(method, url, allow_redirects=False, **options)
        return requested


def _bounded_response(max_bytes: int) -> type[aiohttp.ClientResponse]:
    class BoundedResponse(aiohttp.ClientResponse):
        async def json(self, **_: Any) -> object:
            body = bytearray()
            async for chunk in self.content.iter_any():
                body += chunk
                if len(body) > max_bytes:
                    raise OddAnswer(f"the answer is longer than {max_bytes}")
            return parse_json(bytes(body), max_bytes)

    return BoundedResponse


def _tls_context(settings: OpaSettings) -> ssl.SSLContext:
    context = ssl.create_default_context(cafile=settings.ca_file)
    if settings.certificate_file is not None:
        context.load_cert_chain(settings.certificate_file, settings.certificate_key_file)
    return context


def _reason_of(status: int) -> NoVerdict:
    """Tell who failed: 502 to 504 come from a proxy before the server, every other error is the server's own answer."""
    return NoVerdict.DOWN if status in (502, 503, 504) else NoVerdict.ODD


def _revision(reply: dict[str, Any]) -> str:
    """Return the revision of the one active bundle; "" when there is none, or none that can be told."""
    provenance = reply.get("provenance")
    bundles = provenance.get("bundles") if isinstance(provenance, dict) else None
    if not isinstance(bundles, dict) or len(bundles) != 1:
        return ""
    (bundle,) = bundles.values()
    revision = bundle.get("revision") if isinstance(bundle, dict) else None
    return revision[:MAX_REVISION_CHARACTERS] if isinstance(revision, str) and revision.isprintable() else ""
