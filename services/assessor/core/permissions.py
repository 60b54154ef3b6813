"""What a participant's key may do in the world: what a user's assistant does, and nothing of the proctor's."""

_BY_MODALITY = {
    "email": "state query send read unread star unstar archive delete label unlabel move",
    "sms": "state query send read unread delete react",
    "calendar": "state query create update delete respond",
    "chat": "state query send",
    "time": "read",
}
USER_PERMISSIONS = tuple(f"{modality}:{name}" for modality, names in _BY_MODALITY.items() for name in names.split())
