"""What can be wrong with input, and with the models that read it."""


class IntakeError(Exception):
    """Base of all that intake raises on purpose."""


class BadMedia(IntakeError):
    """The input is not what it claims to be, or is cut short: the sender's fault.

    Args:
        what: One sentence for the sender: what was wrong and where ("image 1: PNG ends in its header").
    """


class TooLarge(IntakeError):
    """The input is over a limit, by its header or by its bytes so far.

    Args:
        limit: What holds the limit: the setting, as in the settings file ("intake.image.max_pixels"), the verdict
            ("obligations.max_input_tokens") or, where the contract does, the message's field ("text.text").
        allowed: Its value.
        seen: What the input has or claims.
    """

    def __init__(self, limit: str, allowed: int, seen: int) -> None:
        super().__init__(f"{limit} allows {allowed}, the input has {seen}")
        self.limit = limit
        self.allowed = allowed
        self.seen = seen


class NoHome(IntakeError):
    """A path begins with a home folder that nobody knows: containers give users that have none.

    Args:
        what: One sentence that names the path.
    """


class ModelMissing(IntakeError):
    """A model is not in the store, or is damaged there: the operator's task.

    Args:
        what: One sentence that ends in the command that mends it.
    """


class SpoolUnavailable(IntakeError):
    """The temporary folder is full or cannot be written: the operator's task. The sender may try again later.

    Args:
        what: One sentence that names the setting of the folder and the system's reason, without a path.
    """
