"""Calls to compatible servers without the SDK between: several times as many a second (the extra `fast`).

The SDK asks where its inventor lives, behind proxies, and where only it knows which certificates the system
trusts. Elsewhere a call is one request of aiohttp's: the key goes to the address of the model and nowhere
else, redirects are not followed, cookies not kept, and a body is read up to the same limit in bytes.
"""

from __future__ import annotations

import asyncio
import ssl
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit
from urllib.request import getproxies, proxy_bypass
from weakref import WeakKeyDictionary

import msgspec

from rageval.judges.models._remote import (
    ACCEPTED,
    CONNECTING,
    LONGEST,
    Home,
    Response,
    read_body,
)


class NotReached(Exception):
    """There is no connection, or, unless `is_unconnected`, it ended before the answer did."""

    def __init__(self, error: BaseException, is_unconnected: bool) -> None:
        super().__init__(type(error).__name__)
        self.error, self.is_unconnected = error, is_unconnected


def is_direct(home: Home) -> bool:
    """Return whether calls may go to this address without the SDK."""
    if home.trusted or find_spec("aiohttp") is None:
        return False
    parts = urlsplit(home.url)
    # Elsewhere the SDK asks the system which certificates it trusts.
    if parts.scheme == "https" and not sys.platform.startswith("linux"):
        return False
    is_proxied = bool({parts.scheme, "all"} & getproxies().keys())
    return not is_proxied or bool(proxy_bypass(parts.netloc))


class Direct:
    """Connections to one address, those of each loop its own."""

    def __init__(self, home: Home, path: str, timeout: float) -> None:
        self._home, self._url, self._timeout = home, home.url + path, timeout
        self.is_understood = True  # whether aiohttp takes what the server writes for HTTP
        self._sessions: WeakKeyDictionary[asyncio.AbstractEventLoop, Any] = WeakKeyDictionary()

    async def post(self, arguments: Mapping[str, Any]) -> Response:
        """Return what the server answers; `NotReached` if it does not."""
        import aiohttp

        failed: NotReached
        try:
            body = msgspec.json.encode(arguments)
            async with self._session().post(self._url, data=body, allow_redirects=False) as response:
                encoding = response.headers.get("content-encoding", "")
                read, cut = await read_body(response.content.iter_any(), encoding, LONGEST)
                if cut:
                    response.close()  # whatever may still come
                return Response(response.status, response.headers, read, cut)
        except (aiohttp.ClientConnectorError, aiohttp.ConnectionTimeoutError) as error:
            failed = NotReached(error, is_unconnected=True)
        except (aiohttp.ClientError, OSError) as error:
            # It is stricter than the SDKs' library, which is asked from now on.
            self.is_understood &= not isinstance(error, aiohttp.ClientResponseError)
            failed = NotReached(error, is_unconnected=False)
        raise failed  # here, so that no traceback leads to the headers

    def _session(self) -> Any:
        import aiohttp

        loop = asyncio.get_running_loop()
        if loop not in self._sessions:
            context = ssl.create_default_context() if self._url.startswith("https:") else True
            key = self._home.key()
            headers = {"accept-encoding": ACCEPTED, "content-type": "application/json"}
            headers |= {"authorization": f"Bearer {key}"} if key else {}
            headers |= self._home.own_headers(key)
            self._sessions[loop] = aiohttp.ClientSession(
                # As many as are under way. A context of its own: aiohttp's is as old as its import.
                connector=aiohttp.TCPConnector(limit=0, ssl=context),
                timeout=aiohttp.ClientTimeout(total=None, sock_connect=min(CONNECTING, self._timeout)),
                headers=headers,
                cookie_jar=aiohttp.DummyCookieJar(),
                auto_decompress=False,
                trust_env=False,  # nor a password of ~/.netrc
            )
        return self._sessions[loop]

    async def aclose(self) -> None:
        """Close the connections made in the running loop."""
        session = self._sessions.pop(asyncio.get_running_loop(), None)
        if session is not None:
            await session.close()
