"""Turns what a framework reports into events: assigns ids, decides each test's final state and
keeps events in order.

Knows no framework: the drivers translate. Not here: how a line is written (events.py).
"""

from _compat_harness import own_builtins as __builtins__

import re
import sys
import time

from _compat_harness.events import clean

FAILING = ("failed", "errored")
# States that count towards `maxfail`. In unittest an unexpected success fails the run.
BROKEN = FAILING + ("crashed", "timed_out")
_COUNTED = {"crashed": "failed"}
BROKEN_IN_UNITTEST = BROKEN + ("xpassed",)

# Addresses differ from run to run: `<function f at 0x7f…>`, also inside a generated name.
_ADDRESS = re.compile(r"(?<=at[ _])0x[0-9a-fA-F]+|0x[0-9a-fA-F]{9,16}(?![0-9a-fA-F])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


class Outcome:
    """One thing that the framework reported about a test.

    `own` is false for a sub-test's outcome: it counts towards the test's state, but its failure is
    in the sub-test's own event."""

    __slots__ = ("state", "phase", "reason", "failure", "own")

    def __init__(self, state, phase, reason=None, failure=None, own=True):
        self.state, self.phase, self.reason = state, phase, reason
        self.failure, self.own = failure, own


class Case:
    """A test between its collection and its end."""

    __slots__ = ("id", "name", "file", "line", "pseudo", "began", "outcomes")

    def __init__(self, id, name, file, line, pseudo):
        self.id, self.name, self.file, self.line, self.pseudo = id, name, file, line, pseudo
        self.began = None
        self.outcomes = []


def _with_parents(id):
    """The id and the ids of its parents: a::B::t[x] -> a::B::t[x], a::B::t, a::B."""
    yield id
    bare = id.partition("[")[0]
    while "::" in bare:
        yield bare
        bare = bare.rpartition("::")[0]


class Recorder:
    """Writes the events of one module.

    `only`: ids of tests to keep, or of their parents (`path::Class`, `path::Class::test` for a
    parametrized test); None keeps all. `maxfail`: stop the framework after this many rows in a
    state listed in `broken`; 0 never stops. `budget`: the TextBudget for failures."""

    def __init__(self, events, describer, module, file, only, budget, maxfail=0, broken=BROKEN):
        self.events, self.describer, self._budget = events, describer, budget
        self.module, self.file = module, file
        self.stream = None  # the RandomStream of the process, if it has one of its own
        self.ready_written = False
        self._only, self._maxfail, self._broken, self._bad = only, maxfail, broken, set()
        self._seen = {}
        self._collected = self._ended = 0
        self._now = time.monotonic
        self._modules = sys.modules

    # Collection.

    def case(self, tail, name, place=("", 0), pseudo=False):
        """A test of this module, not announced yet. `tail` is its id after the module's path."""
        id = self.module + "::" + _ADDRESS.sub("0x\u2026", _CONTROL.sub(_escaped, clean(tail)))
        count = self._seen[id] = self._seen.get(id, 0) + 1
        if count > 1:
            id = "%s#%d" % (id, count)
        file, line = place
        return Case(id, name, file or self.file, line, pseudo)

    def selected(self, case, also=()):
        """Whether `only` names the case, one of its parents, or one of the names in `also`."""
        if self._only is None:
            return True
        names = (self.module + "::" + name for name in also)
        return any(id in self._only for ids in (_with_parents(case.id), names) for id in ids)

    def announce(self, case):
        self._collected += 1
        self.events.write(
            "collected",
            id=case.id,
            name=case.name,
            file=case.file,
            line=case.line,
            pseudo=True if case.pseudo else None,
        )
        return case

    def ready(self):
        self.ready_written = True
        self.events.write("ready", collected=self._collected)

    def is_silent(self):
        """Whether no event yet names a test of the module or says why there is none."""
        return not self.ready_written and self._collected == 0

    # Running.

    def start(self, case):
        case.began = self._now()
        self.events.write("start", id=case.id, time=round(case.began, 6))
        if self.stream is not None:
            self.stream.begin_test()
        self._call_shim("begin_test", case.id)

    def subtest(self, case, label, state, reason=None, failure=None):
        # `verdict` lets a failed sub-test decide the test's state.
        case.outcomes.append(Outcome(state, "call", reason, None, own=False))
        written = self._budget.failures([failure] if failure else [])
        self.events.write(
            "subtest",
            id=case.id,
            label=self._budget.line(label),
            state=state,
            reason=self._budget.line(reason),
            failure=written[0] if written else None,
        )

    def end(self, case):
        """Writes the case's final state. A case that was never started has duration 0."""
        if case.began is None:
            duration = 0.0
        else:
            duration = self._now() - case.began
            self._call_shim("end_test")
        self._ended += 1
        self._write_end(case, duration)

    def amend(self, case):
        """Writes a second `end` for a case whose state the framework has corrected."""
        self._write_end(case, self._now() - case.began)

    def _write_end(self, case, duration):
        keys = verdict(case.outcomes)
        keys["reason"] = self._budget.line(keys.get("reason"))
        failures = self._budget.failures(keys.pop("failures"))
        keys["failure"], keys["also"] = failures[0] if failures else None, failures[1:] or None
        (self._bad.add if keys["state"] in self._broken else self._bad.discard)(case.id)
        self.events.write("end", id=case.id, duration_s=round(duration, 6), **keys)

    def has_enough(self, running=None):
        """Whether `maxfail` is reached. A case still `running` counts if it has failed."""
        failing = running is not None and any(o.state in FAILING for o in running.outcomes)
        return 0 < self._maxfail <= len(self._bad) + failing

    def pseudo(self, tail, name, outcomes, place=("", 0)):
        """Announces and ends a row that is not a test, such as `<module>` for a load failure."""
        case = self.announce(self.case(tail, name, place, pseudo=True))
        case.outcomes.extend(outcomes)
        self.end(case)

    def fixture(self, tail):
        self.events.write(
            "fixture", id=self.module + "::" + clean(tail), time=round(self._now(), 6)
        )

    def finish(self, closing=None, in_log=True):
        """`closing`: the framework's summary lines, or its counts in the same form. `in_log`:
        whether it has printed them to the log."""
        self.events.write(
            "finish",
            collected=self._collected,
            ended=self._ended,
            closing=closing,
            closing_in_log=False if closing and not in_log else None,
        )

    def _call_shim(self, function, *args):
        shim = self._modules.get("compat_shim")
        if shim is None:
            return
        try:
            getattr(shim, function)(*args)
        except Exception as error:
            self.events.complain("compat_shim.%s: %r" % (function, error))


def verdict(outcomes):
    """The keys of an `end` event, with `failure` and `also` combined as `failures`.

    The first failing outcome decides, after a broken sub-test the first that is "failed"; without
    one, the first that is not a pass: of the test itself, or of its sub-tests if it has none of its
    own. A test without outcomes is an error.
    """
    if not outcomes:
        failure = {
            "type": "NoOutcome",
            "message": "the framework ended the test without an outcome",
            "traceback": "",
            "phase": "call",
            "frames": [],
        }
        return {"state": "errored", "phase": "call", "failures": [failure]}
    own = [o for o in outcomes if o.own]
    failing = [o for o in outcomes if o.state in FAILING]
    notable = [o for o in own or outcomes if o.state != "passed"]
    if not all(o.own for o in failing):  # logs do not tell the order of sub-tests
        failing.sort(key=lambda o: o.state != "failed")
    decisive = (failing or notable or own or outcomes)[0]

    by_framework = own[0].state if own else "passed"
    reported = [o for o in own if o.failure is not None]
    if failing:
        reported = [o for o in reported if o.state in FAILING]
    # A framework that outlives the crash counts a failure.
    failures = [dict(o.failure, counted=_COUNTED.get(o.state, o.state)) for o in reported]
    if failures and failures[0]["counted"] == decisive.state:
        del failures[0]["counted"]  # equals the state: redundant
    return {
        "state": decisive.state,
        "phase": decisive.phase,
        "reason": next((o.reason for o in [decisive] + own if o.reason is not None), None),
        "call": by_framework if by_framework != decisive.state else None,
        "failures": failures,
    }


def _escaped(match):
    """An id must fit on one line of the `--only` file."""
    return match.group().encode("unicode_escape").decode("ascii")
