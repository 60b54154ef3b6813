"""What files of messages may be, for whoever takes them in and whoever reads them."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.infra.host_list import HostList


class SentFileSettings(BaseSettings):
    """Files are taken where ``ARCHIVE_URL`` is set, which is where they are kept."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    file_bytes: int = Field(
        default=10_000_000, ge=1, le=100_000_000, description="the largest file that is taken, as bytes or by address"
    )
    files_allowed_hosts: HostList = Field(
        default=(),
        description="hosts and networks beside public ones that files may be fetched from, commas between",
    )
