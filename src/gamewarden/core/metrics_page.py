"""The page that Prometheus reads: the numbers of a process at /metrics, and nothing else, on this machine alone."""

import threading
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from gamewarden.core.extras import need
from gamewarden.core.listening import Listener, address_of, bound
from gamewarden.core.meters import Meters

if TYPE_CHECKING:
    from prometheus_client.core import Metric

_PATH = "/metrics"
_SECONDS = 10  # for somebody to say what they want


@contextmanager
def metrics_page(meters: Meters, listener: Listener) -> Iterator[str]:
    """Answer for as long as this lasts; gives the page's address.

    Raises:
        InstallError: the library is not there.
        WriteError: another program has the port, or there is no such address.
    """
    need("--metrics", "prometheus_client")
    with bound(listener.host, listener.port, who="--metrics", flag="--metrics HOST:PORT") as listening:
        address = address_of(listening).rstrip("/") + _PATH
        server = _server(meters, listening)
        threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.1}, daemon=True).start()
        try:
            yield address
        finally:
            server.shutdown()


def _server(meters: Meters, listening: Any) -> Any:  # noqa: ANN401  of the standard library, loaded late
    from socketserver import ThreadingMixIn
    from wsgiref.simple_server import WSGIRequestHandler, WSGIServer

    class Server(ThreadingMixIn, WSGIServer):
        daemon_threads = True
        address_family = listening.family

    class Handler(WSGIRequestHandler):
        timeout = _SECONDS

        def log_message(self, *_: object) -> None:
            """Say nothing: standard error belongs to whoever reads decisions."""

    server = Server(listening.getsockname()[:2], Handler, bind_and_activate=False)
    server.socket.close()
    server.socket = listening
    host, port = listening.getsockname()[:2]
    server.server_name, server.server_port = host, port
    server.setup_environ()
    server.set_app(_answering(meters))
    return server


def _answering(meters: Meters) -> Any:  # noqa: ANN401  a WSGI application
    from prometheus_client import CollectorRegistry, make_wsgi_app
    from prometheus_client.registry import Collector

    class Page(Collector):
        def collect(self) -> Iterable["Metric"]:
            return families(meters)

    registry = CollectorRegistry()
    registry.register(Page())
    page = make_wsgi_app(registry)

    def answer(environ: dict[str, Any], start: Any) -> Iterable[bytes]:  # noqa: ANN401  WSGI's own
        if environ["PATH_INFO"] == _PATH:
            found: Iterable[bytes] = page(environ, start)
            return found
        start("404 Not Found", [("Content-Type", "text/plain; charset=utf-8")])
        return [f"there is only {_PATH}\n".encode()]

    return answer


def families(meters: Meters) -> Iterator["Metric"]:
    """The numbers as Prometheus has them."""
    from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily

    for meter, values in meters.read():
        kind = CounterMetricFamily if meter.kind == "counter" else GaugeMetricFamily
        family = kind(meter.name, meter.says, labels=list(meter.labels))
        for labels, value in values.items():
            family.add_metric(list(labels), value)
        yield family
