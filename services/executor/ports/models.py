"""Language models: the port that every service shares."""

from shared.ports.models import (
    Effort,
    Message,
    Model,
    ModelReply,
    ModelRequest,
    ModelUnavailable,
    StableText,
    TextBlock,
    Tier,
    ToolDefinition,
    ToolResult,
    ToolUse,
    Usage,
)

__all__ = [
    "Effort",
    "Message",
    "Model",
    "ModelReply",
    "ModelRequest",
    "ModelUnavailable",
    "StableText",
    "TextBlock",
    "Tier",
    "ToolDefinition",
    "ToolResult",
    "ToolUse",
    "Usage",
]
