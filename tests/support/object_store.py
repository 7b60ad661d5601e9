"""A server that speaks S3, on this machine and for these tests alone; skipped where moto is not installed."""

import logging
from contextlib import contextmanager

import pytest

KEYS = {
    "AWS_ACCESS_KEY_ID": "somebody",
    "AWS_SECRET_ACCESS_KEY": "secret",
    "AWS_DEFAULT_REGION": "us-east-1",
    "AWS_EC2_METADATA_DISABLED": "true",
}
BUCKET = "games"


class ObjectStore:
    """One bucket of a server."""

    def __init__(self, endpoint):
        from pyarrow.fs import S3FileSystem

        self.endpoint = endpoint
        self.files = S3FileSystem(
            access_key="somebody",
            secret_key=KEYS["AWS_SECRET_ACCESS_KEY"],
            region="us-east-1",
            endpoint_override=endpoint.removeprefix("http://"),
            scheme="http",
            allow_bucket_creation=True,
        )
        self.files.create_dir(BUCKET)

    def put(self, name, data):
        """The address of an object with these bytes."""
        with self.files.open_output_stream(f"{BUCKET}/{name}", compression=None) as stream:
            stream.write(data)
        return f"s3://{BUCKET}/{name}"

    def put_file(self, path, name=None):
        return self.put(name or path.name, path.read_bytes())

    def empty(self):
        """Remove whatever is there."""
        self.files.delete_dir_contents(BUCKET)

    def remove(self, name):
        self.files.delete_file(f"{BUCKET}/{name}")


@contextmanager
def served():
    """The endpoint of a server that runs for so long."""
    pytest.importorskip("moto.server", reason="moto is not installed: pip install 'gamewarden[test]'")
    from moto.server import ThreadedMotoServer

    logging.getLogger("werkzeug").setLevel(logging.ERROR)
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    try:
        host, port = server.get_host_and_port()
        yield f"http://{host}:{port}"
    finally:
        server.stop()
