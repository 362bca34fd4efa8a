"""When so many recipients are refused that the cause is probably not theirs. Pure.

A refusal that names nothing is bisected until one recipient stands alone. If it was about all of them after all, that
would end with everybody failed: so a campaign pauses at the twentieth failure, and then at every doubling, as long as
more were refused than accepted. Refusals that name a few of many are those recipients' own, however many they are.
"""

FIRST = 20  # failures


def reason(members: int, named: int, failed: int, sent: int) -> str:
    """Why to pause a campaign after a call of `members` was refused, `named` of them by name; empty if all is well.

    `failed` and `sent` are the campaign's deliveries with that call.
    """
    newly = named or (1 if members == 1 else 0)
    if not newly or 2 * newly < members or not trips(failed - newly, failed, sent):
        return ""
    return f"mass_rejection: {failed} recipients refused, {sent} accepted"


def trips(failed_before: int, failed: int, sent: int) -> bool:
    """Whether the first number of failures has been reached or doubled, with more of them than acceptances."""
    return failed > sent and _level(failed) > _level(failed_before)


def _level(failed: int) -> int:
    return (failed // FIRST).bit_length()
