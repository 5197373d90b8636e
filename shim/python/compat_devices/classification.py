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


def message_of(error):
    """Its text; empty where that raises an error itself."""
    try:
        return str(error)
    except Exception:
        return ""


def in_one_line(error):
    return f"{type_name(error)}: {message_of(error).partition(chr(10))[0]}"


def classify(error, message=None):
    """The Classification of an exception, or of a type's name and a message; None: another error."""
    if isinstance(error, BaseException):
        error, message = type_name(error), message_of(error)
    # Bytes, since a text may have what UTF-8 has not.
    return library.classify(*(text.encode("utf-8", "replace") for text in (error, message or "")))
