"""A folder's files as they are sent: in pieces that fit into a request."""

from cli.learn import pieces
from shared.contracts.learning_files import LearningFile
from shared.domain.exact_json import Json


def test_many_entities_are_sent_in_pieces_and_everything_else_whole() -> None:
    rows: list[Json] = [{"kind": "vendor", "value": f"v{number}"} for number in range(600)]
    sent_pieces = pieces(LearningFile.ENTITIES, {"entities": rows})
    sent = [row for _, content in sent_pieces if isinstance(content, dict) for row in _rows(content["entities"])]
    assert (len(sent_pieces), sent) == (3, rows)
    assert pieces(LearningFile.CASE_LOG, rows) == [(LearningFile.CASE_LOG, rows)]
    assert pieces(LearningFile.ENTITIES, "x") == [(LearningFile.ENTITIES, "x")]


def _rows(value: Json) -> list[Json]:
    assert isinstance(value, list)
    return value
