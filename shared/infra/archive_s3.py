"""An archive in an S3 bucket, or any store with the S3 protocol."""

import asyncio
from collections.abc import Callable
from typing import TypeVar, cast

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from shared.infra.archive_folder import build_archive_file_name, build_tenant_folder_name, parse_content_id
from shared.ports.archive import Archive, ArchiveUnavailable

_MISSING_CODES = ("NoSuchKey", "404")
_AWS_LIMITS = {"connect_timeout": 3, "read_timeout": 10, "retries": {"max_attempts": 3, "mode": "standard"}}
T = TypeVar("T")


class S3Archive(Archive):
    """An archive in an S3 bucket. Region, keys and endpoint come from the usual ``AWS_*`` variables."""

    def __init__(self, bucket: str, prefix: str = "") -> None:
        self._bucket = bucket
        self._prefix = f"{prefix.strip('/')}/" if prefix.strip("/") else ""
        self._client = boto3.client("s3", config=Config(**_AWS_LIMITS))

    async def put(self, tenant: str, content_id: str, content: bytes) -> None:
        await _call_s3_in_thread(
            lambda: self._client.put_object(**self._build_object_address(tenant, content_id), Body=content)
        )

    async def get(self, tenant: str, content_id: str) -> bytes | None:
        def read() -> bytes:
            return cast(bytes, self._client.get_object(**self._build_object_address(tenant, content_id))["Body"].read())

        return await _call_s3_or_none(read)

    async def list(self, tenant: str) -> tuple[str, ...]:
        stem = f"{self._prefix}{build_tenant_folder_name(tenant)}/"

        def read() -> list[str]:
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=stem)
            return [str(item["Key"]).removeprefix(stem) for page in pages for item in page.get("Contents", ())]

        names = await _call_s3_in_thread(read)
        return tuple(sorted(content_id for name in names if (content_id := parse_content_id(name)) is not None))

    async def delete(self, tenant: str, content_id: str) -> bool:
        address = self._build_object_address(tenant, content_id)
        if await _call_s3_or_none(lambda: bool(self._client.head_object(**address))) is None:
            return False
        await _call_s3_in_thread(lambda: self._client.delete_object(**address))
        return True

    def _build_object_address(self, tenant: str, content_id: str) -> dict[str, str]:
        return {
            "Bucket": self._bucket,
            "Key": f"{self._prefix}{build_tenant_folder_name(tenant)}/{build_archive_file_name(content_id)}",
        }


async def _call_s3_in_thread(call: Callable[[], T]) -> T:
    try:
        return await asyncio.to_thread(call)
    except (BotoCoreError, ClientError) as error:
        raise ArchiveUnavailable(f"the archive's bucket cannot be used: {type(error).__name__}: {error}") from error


async def _call_s3_or_none(call: Callable[[], T]) -> T | None:
    """Makes an S3 call in a thread; None if the object does not exist."""

    def call_unless_missing() -> T | None:
        try:
            return call()
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _MISSING_CODES:
                return None
            raise

    return await _call_s3_in_thread(call_unless_missing)
