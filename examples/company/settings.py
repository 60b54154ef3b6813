"""What the company is started with: variables of the environment, which options of the command line override."""

from pathlib import Path

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from examples.company.protocols import ToolProtocol


class CompanySettings(BaseSettings):
    """``DATABASE`` has no default: the company never guesses where its books are."""

    model_config = SettingsConfigDict(
        frozen=True,
        env_ignore_empty=True,
        cli_prog_name="python -m examples.company",
        cli_kebab_case=True,
        cli_implicit_flags=True,
    )

    host: str = Field(default="127.0.0.1", description="address to listen on")
    port: int = Field(default=9009, ge=0, le=65535, description="port to listen on")
    database: Path = Field(description="the SQLite file")
    seed_data: bool = Field(default=False, description="fill an empty database with the example data")
    reset: bool = Field(default=False, description="begin with a fresh database, filled with the example data")
    company_protocol: ToolProtocol = Field(default=ToolProtocol.MCP, description="what the tools are served over")
    company_faults: str = Field(
        default="{}", description="JSON object: tool name to fault, and rename: columns to new names"
    )
    allow_faults: bool = Field(default=False, description="serve POST /faults")
