"""Training rows as they come, for tests."""

import json
from collections.abc import Sequence

from pydantic import JsonValue


def a_row(number: int = 1, score: float = 0.9, failed: bool = False, **metadata: JsonValue) -> dict[str, JsonValue]:
    text = f"Reconcile invoice INV-{number} of the warehouse with its purchase order"
    use: JsonValue = {"type": "tool_use", "id": "toolu_001_get_invoice", "name": "get_invoice", "input": {"id": number}}
    result: JsonValue = {"type": "tool_result", "tool_use_id": "toolu_001_get_invoice", "content": "{}"}
    told: dict[str, JsonValue] = {
        "task_id": f"task_{number:02}",
        "scenario": "invoice_reconciliation",
        "difficulty": "medium",
        "source": "benchmark",
        "overall_score": score,
        "training_type": "negative_corrected" if failed else "positive",
        "tool_count": 1,
        "generated_at": "2026-01-02T03:04:05Z",
    }
    return {
        "messages": [
            {"role": "system", "content": "You carry out business processes."},
            {"role": "user", "content": text},
            {"role": "assistant", "content": [{"type": "text", "text": "I look."}, use]},
            {"role": "user", "content": [result]},
            {"role": "assistant", "content": "It matches."},
        ],
        "metadata": {**told, **({"failure_cause": "it paid before it had read"} if failed else {}), **metadata},
    }


def lines_of(rows: Sequence[object]) -> bytes:
    return "".join(f"{json.dumps(row)}\n" for row in rows).encode()
