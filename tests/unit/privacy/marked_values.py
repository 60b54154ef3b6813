"""Values that the guard marks, made up, each with a text by which it is known for what it is."""

VALUES = {
    "4111 1111 1111 1111": "card 4111 1111 1111 1111",
    "378282246310005": "378282246310005",
    "5555555555554444": "5555555555554444",
    "DE89370400440532013000": "DE89370400440532013000",
    "GB82 WEST 1234 5698 7654 32": "GB82 WEST 1234 5698 7654 32",
    "536-90-4399": "536-90-4399",
    "sk-ant-abcdefghijklmnop-0123": "sk-ant-abcdefghijklmnop-0123",
    "AKIAIOSFODNN7EXAMPLE": "AKIAIOSFODNN7EXAMPLE",
    "Tr0ub4dor&3": "the password is Tr0ub4dor&3",
    "hunter2x!": "password: hunter2x!",
}


def a_text_with(values: list[str]) -> str:
    return "; ".join(VALUES[value] for value in values)
