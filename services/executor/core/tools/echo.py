"""Answers that only repeat the call: some servers give them to anything, and they say nothing of the world."""

from shared.domain.exact_json import Json


def is_echo(tool: str, content: Json) -> bool:
    """Whether an answer is ``{"status": ..., "tool": the tool, "params": what it was called with}``."""
    if not isinstance(content, dict) or content.get("tool") != tool:
        return False
    return isinstance(content.get("params"), dict) and set(content) <= {"status", "tool", "params", "session_id"}
