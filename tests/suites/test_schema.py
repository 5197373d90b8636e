"""Tests suites/suite.schema.json with an independent validator."""

import json
import pathlib
import re
import unittest

try:
    import jsonschema
except ImportError:
    jsonschema = None

SUITES = pathlib.Path(__file__).resolve().parents[2] / "suites"
COMMENT = re.compile(r'("(?:\\.|[^"\\])*")|//[^\n]*|/\*.*?\*/', re.DOTALL)


def read(path):
    return json.loads(COMMENT.sub(lambda m: m[1] or "", path.read_text(encoding="utf-8")))


class SchemaTest(unittest.TestCase):
    def setUp(self):
        if jsonschema is None:
            self.skipTest("the Python package jsonschema is not installed")
        self.schema = read(SUITES / "suite.schema.json")

    def test_is_a_schema(self):
        jsonschema.Draft7Validator.check_schema(self.schema)

    def test_takes_every_shipped_suite(self):
        files = sorted(SUITES.glob("*/suite.json"))
        self.assertGreaterEqual(len(files), 4)
        for path in files:
            with self.subTest(path=path):
                jsonschema.validate(read(path), self.schema)

    def test_refuses(self):
        good = {"format": 1, "name": "a", "framework": "unittest"}
        jsonschema.validate(good, self.schema)
        for bad in (
            {"framework": "nose"},
            {"retrys": 1},
            {"source": {}},
            {"source": {"git": "u"}},
            {"source": {"path": "a", "debian": "b"}},
            {"limits": {"test_timeout": "0s"}},
            {"limits": {"memory": "6GB"}},
            {"layout": {"tests": "../x"}},
            {"env": {"1A": "x"}},
        ):
            with self.subTest(bad=bad), self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate({**good, **bad}, self.schema)

    def test_takes_and_refuses_expectations(self):
        schema = read(SUITES / "expectations.schema.json")
        jsonschema.Draft7Validator.check_schema(schema)
        entry = {"test": "a::*", "expect": ["failed", "errored"], "reason": "r", "issue": "i", "until": "2027-01-31",
                 "when": {"device": ["mps", "cuda"], "torch": ">=2.1,<2.5", "shim": True}}
        for good in ([], [entry], {"format": 1, "expectations": [entry, {"test": "b", "expect": "passed"}]}):
            jsonschema.validate(good, schema)
        for bad in ({}, {"format": 2, "expectations": []}, [{"test": "a"}], [{**entry, "expect": "fail"}],
                    [{**entry, "expect": []}], [{**entry, "when": {"torch": "2.1"}}], [{**entry, "until": "soon"}],
                    [{**entry, "when": {"host": "x"}}], [{**entry, "unknown": 1}]):
            with self.subTest(bad=bad), self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(bad, schema)

    def test_takes_and_refuses_names_of_a_hub(self):
        schema = read(SUITES / "hub_names.schema.json")
        jsonschema.Draft7Validator.check_schema(schema)
        files = sorted(SUITES.glob("*/hub.names.json"))
        self.assertTrue(files)
        for path in files:
            jsonschema.validate(read(path), schema)
        for bad in ({}, {"format": 2}, {"format": 1, "model": {}}, {"format": 1, "models": {"a": 1}},
                    {"format": 1, "datasets": {"a": {"splits": [], "configs": {"c": {"x": "text"}}}}}):
            with self.subTest(bad=bad), self.assertRaises(jsonschema.ValidationError):
                jsonschema.validate(bad, schema)


if __name__ == "__main__":
    unittest.main()
