"""Training rows in an S3 bucket, or in any store that speaks its protocol."""

import asyncio
from collections.abc import Callable, Sequence
from typing import TypeVar, cast

import boto3
from botocore.config import Config
from botocore.exceptions import BotoCoreError, ClientError

from services.learner.ports.outcomes import ObjectChanged, ObjectStoreUnavailable, TrainingObject, TrainingObjectStore

_AWS_LIMITS = {"connect_timeout": 3, "read_timeout": 30, "retries": {"max_attempts": 3, "mode": "standard"}}
_FILE_SUFFIXES = (".json", ".jsonl")
_ERROR_CODES_OF_CHANGED_OBJECT = ("PreconditionFailed", "412", "NoSuchKey", "404")
T = TypeVar("T")


class S3ObjectStore(TrainingObjectStore):
    """Reads objects from a bucket. Region, keys and endpoint come from the usual ``AWS_*`` variables."""

    def __init__(self, bucket: str, prefix: str) -> None:
        self._bucket = bucket
        self._prefix = prefix
        self._client = boto3.client("s3", config=Config(**_AWS_LIMITS))

    async def list_objects(self) -> Sequence[TrainingObject]:
        def list_objects() -> list[tuple[float, TrainingObject]]:
            pages = self._client.get_paginator("list_objects_v2").paginate(Bucket=self._bucket, Prefix=self._prefix)
            rows = [row for page in pages for row in page.get("Contents", ()) if row["Key"].endswith(_FILE_SUFFIXES)]
            return [
                (
                    row["LastModified"].timestamp(),
                    TrainingObject(str(row["Key"]), str(row["ETag"]), cast(int, row["Size"])),
                )
                for row in rows
            ]

        return [training_object for _, training_object in sorted(await self._call_s3(list_objects))]

    async def read(self, listed_object: TrainingObject) -> bytes:
        def read() -> bytes:
            request = {"Bucket": self._bucket, "Key": listed_object.name, "IfMatch": listed_object.version}
            return cast(bytes, self._client.get_object(**request)["Body"].read())

        return await self._call_s3(read)

    async def _call_s3(self, call: Callable[[], T]) -> T:
        try:
            return await asyncio.to_thread(call)
        except ClientError as error:
            if error.response.get("Error", {}).get("Code") in _ERROR_CODES_OF_CHANGED_OBJECT:
                raise ObjectChanged from error
            raise self._translate_error(error) from error
        except (BotoCoreError, OSError) as error:
            raise self._translate_error(error) from error

    def _translate_error(self, error: Exception) -> ObjectStoreUnavailable:
        return ObjectStoreUnavailable(f"the bucket {self._bucket} cannot be used: {type(error).__name__}: {error}")
