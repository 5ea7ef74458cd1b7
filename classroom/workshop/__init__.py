"""A class in one room: run sheets, slides and what goes into its folder; the live board, and what notebooks report to it after `join`."""


class WorkshopError(ValueError):
    """What was asked for cannot be; the message says why."""


class NotPossibleHere(WorkshopError):
    """What was asked for is right, and this machine cannot do it; the message says what it lacks."""
