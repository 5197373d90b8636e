"""Tests runner/config/config.schema.json with an independent validator."""

import json
import pathlib
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

SCHEMA = pathlib.Path(__file__).resolve().parents[2] / "runner" / "config" / "config.schema.json"


class SchemaTest(unittest.TestCase):
    def setUp(self):
        if jsonschema is None:
            self.skipTest("the Python package jsonschema is not installed")
        self.schema = json.loads(SCHEMA.read_text(encoding="utf-8"))

    def test_is_a_schema(self):
        jsonschema.Draft7Validator.check_schema(self.schema)

    def test_takes(self):
        for good in ({}, {"jobs": 4, "shim": False, "policy": "full", "timeout": "1h30m", "python": ".venv"}):
            with self.subTest(good=good):
                jsonschema.validate(good, self.schema)

    def test_refuses(self):
        for bad in ({"jobs": 0}, {"retries": 11}, {"job": 1}, {"shim": "on"}, {"policy": "half"}, {"timeout": "0s"},
                    {"python": ""}):
            with self.subTest(bad=bad), self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(bad, self.schema)


if __name__ == "__main__":
    unittest.main()
