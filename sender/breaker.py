"""When so many recipients are refused that the cause is probably not theirs. Pure.

A refusal that names nothing is bisected until one recipient stands alone. If it was about all of them after all, that
would end with everybody failed: so a campaign pauses at the twentieth failure, and then at every doubling, as long as
more were refused than accepted.
"""

FIRST = 20  # failures


def trips(failed_before: int, failed: int, sent: int) -> bool:
    """Whether to pause, now that `failed` deliveries of a campaign have failed and `sent` were accepted."""
    return failed > sent and _level(failed) > _level(failed_before)


def _level(failed: int) -> int:
    """How often the first number of failures has been reached or doubled."""
    return (failed // FIRST).bit_length()
