"""A bucket on a local server that speaks S3's protocol, for tests of whatever reads one."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple, Protocol, cast

import boto3
from moto.server import ThreadedMotoServer

BUCKET = "training"


class _Client(Protocol):
    """What of boto3's client the stage uses; boto3 ships no types."""

    def create_bucket(self, **asked: object) -> object: ...
    def put_object(self, **asked: object) -> object: ...
    def delete_object(self, **asked: object) -> object: ...
    def list_objects_v2(self, **asked: object) -> dict[str, list[dict[str, str]]]: ...


class BucketServer(NamedTuple):
    url: str

    @property
    def environ(self) -> dict[str, str]:
        """What boto3 is told in the environment."""
        return {
            "AWS_ENDPOINT_URL": self.url,
            "AWS_ACCESS_KEY_ID": "a",
            "AWS_SECRET_ACCESS_KEY": "b",
            "AWS_DEFAULT_REGION": "us-east-1",
        }

    def put(self, name: str, content: bytes) -> None:
        self._client().put_object(Bucket=BUCKET, Key=name, Body=content)

    def empty(self) -> None:
        """A bucket with nothing in it."""
        client = self._client()
        client.create_bucket(Bucket=BUCKET)
        for item in client.list_objects_v2(Bucket=BUCKET).get("Contents", ()):
            client.delete_object(Bucket=BUCKET, Key=item["Key"])

    def _client(self) -> _Client:
        keys = {"aws_access_key_id": "a", "aws_secret_access_key": "b", "region_name": "us-east-1"}
        return cast(_Client, boto3.client("s3", endpoint_url=self.url, **keys))


@contextmanager
def bucket_server() -> Iterator[BucketServer]:
    server = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield BucketServer(f"http://{host}:{port}")
    finally:
        server.stop()
