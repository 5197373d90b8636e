"""DeviceLog: what the library did in this process."""

from .native import library


def _export(self, path):
    """Write the log to a file as JSON lines."""
    with open(path, "w", encoding="utf-8") as file:
        file.write(self.json_lines())


DeviceLog = library.DeviceLog
DeviceLog.export = _export
