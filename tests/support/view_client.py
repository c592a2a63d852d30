"""Requests to a local page, with every wait bounded."""

import http.client
import json
import time
from collections import namedtuple
from urllib.parse import urlsplit

SECONDS = 60

Answered = namedtuple("Answered", "code text headers")


def request(address, path="", *, method="GET", host=None, raw_path=None):
    """Send one request; `raw_path` is sent as it is, `host` replaces the header."""
    parts = urlsplit(address)
    connection = http.client.HTTPConnection(parts.hostname, parts.port, timeout=SECONDS)
    try:
        headers = {} if host is None else {"Host": host}
        connection.request(method, raw_path or parts.path + path, headers=headers)
        answer = connection.getresponse()
        text = answer.read().decode("utf-8")
        return Answered(answer.status, text, {k.lower(): v for k, v in answer.getheaders()})
    finally:
        connection.close()


def asked(address, path):
    """Return the JSON of an answer that must be fine."""
    answer = request(address, path)
    assert answer.code == 200, answer
    return json.loads(answer.text)


def eventually(test, seconds=SECONDS):
    """Call until the result is true; return it."""
    until = time.monotonic() + seconds
    while not (result := test()):
        assert time.monotonic() < until, "this did not happen in time"
        time.sleep(0.02)
    return result
