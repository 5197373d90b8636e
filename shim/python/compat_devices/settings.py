"""The settings of the library: arguments, the environment, a JSON file."""

import json
import os

from .native import SettingError, library


def _text(value):
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value)


def read_settings_file(path):
    """The keys of the JSON object in `path`, or under its key "device" (as in a suite.json)."""
    try:
        with open(path, encoding="utf-8") as file:
            document = json.load(file)
    except OSError as error:
        raise SettingError(f"{path}: the settings file cannot be read: {error.strerror}") from None
    except ValueError as error:
        raise SettingError(f"{path}: the settings file is not JSON: {error}") from None
    is_suite = isinstance(document, dict) and "device" in document
    if is_suite:
        document = document["device"]
    if not isinstance(document, dict):
        raise SettingError(f"{path}: the settings must be a JSON object of keys and values")
    if is_suite:  # it says more of its device, and has a schema of its own
        keys = {row["file_key"] for row in library.SETTINGS}
        document = {key: value for key, value in document.items() if key in keys}
    for key, value in document.items():
        if value is None or isinstance(value, (dict, list)):
            raise SettingError(f"{path}, key {key}: use a string, a number or true or false")
    return {key: _text(value) for key, value in document.items()}


def resolve_settings(arguments=None, file=None, environment=None):
    """Settings from arguments by name, a settings file (path, or its keys), and the environment."""
    given = {name: _text(value) for name, value in (arguments or {}).items() if value is not None}
    keys = file if isinstance(file, dict) else read_settings_file(file) if file else {}
    keys = {key: _text(value) for key, value in keys.items()}
    variables = dict(os.environ if environment is None else environment)
    return library.resolve_settings(given, keys, variables)
