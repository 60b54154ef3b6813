"""Where training rows come from, by the variables that say so."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from services.learner.core.report.report import REPORTS_PREFIX
from services.learner.core.training.rows import TRAINING_PREFIX


class TrainingSettings(BaseSettings):
    """Without ``S3_TRAINING_BUCKET`` nothing is loaded. Keys, region and endpoint: ``AWS_*``, as for all of boto3."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore")

    s3_training_bucket: str = Field(
        default="",
        pattern=r"^([a-zA-Z0-9][a-zA-Z0-9._:/-]{1,253}[a-zA-Z0-9])?$",
        description="the bucket of training rows; empty: none are loaded",
    )
    s3_training_prefix: str = Field(default=TRAINING_PREFIX, description="what their names begin with")
    s3_reports_prefix: str = Field(default=REPORTS_PREFIX, description="what the names of benchmark reports begin with")
    s3_training_tenant: str = Field(default="default", min_length=1, description="whose memory they go into")
    s3_training_hours: float = Field(
        default=12.0, gt=0, le=24 * 365, description="hours between two looks at the bucket"
    )
