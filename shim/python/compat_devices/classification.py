"""classify: which class of device errors an exception belongs to."""

from .native import library

Classification = library.Classification
recovery_of = library.recovery_of


def type_name(error):
    """As a traceback prints the type: KeyError, torch.OutOfMemoryError."""
    kind = type(error)
    if kind.__module__ in ("builtins", "__main__"):
        return kind.__qualname__
    return f"{kind.__module__}.{kind.__qualname__}"


def classify(error, message=None):
    """The Classification of an exception, or of a type's name and a message; None: not a device error."""
    if isinstance(error, BaseException):
        return library.classify(type_name(error), str(error))
    return library.classify(error, message or "")
