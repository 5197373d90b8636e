"""From what a framework reports about tests to events: ids, the one state of each test, the order
of lines.

Knows no framework; the drivers translate. Not here: how a line is written (events.py).
"""

from _compat_harness import own_builtins as __builtins__  # as said there

import re
import sys
import time

from _compat_harness.events import clean

FAILING = ("failed", "errored")
# What counts for `maxfail`; under unittest an unexpected success fails the run, too.
BROKEN = FAILING + ("crashed", "timed_out")
BROKEN_IN_UNITTEST = BROKEN + ("xpassed",)

# What varies from run to run: `<function f at 0x7f…>`, or the same made into a name.
_ADDRESS = re.compile(r"(?<=at[ _])0x[0-9a-fA-F]+|0x[0-9a-fA-F]{9,16}(?![0-9a-fA-F])")
_CONTROL = re.compile(r"[\x00-\x1f\x7f\x85\u2028\u2029]")


class Outcome:
    """One thing that the framework reported about a test. Of a sub-test where `own` is false: it
    decides the test's state with the others, its failure is told elsewhere."""

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


def _holders(id):
    """The id, and the ids that stand for all it is part of: a::B::t[x] -> a::B::t[x], a::B::t, a::B."""
    yield id
    bare = id.partition("[")[0]
    while "::" in bare:
        yield bare
        bare = bare.rpartition("::")[0]


class Recorder:
    """Writes the events of one module. `only`: ids to keep, of tests or of what holds them
    (`path::Class`, `path::Class::test` of a parametrized one); None for all. `maxfail`: after so
    many rows in a state of `broken` the framework is to stop; 0 for never. `budget`: for the text of
    failures."""

    def __init__(self, events, describer, module, file, only, budget, maxfail=0, broken=BROKEN):
        self.events, self.describer, self._budget = events, describer, budget
        self.module, self.file = module, file
        self.ready_written = False
        self._only, self._maxfail, self._broken, self._bad = only, maxfail, broken, set()
        self._seen = {}
        self._collected = self._ended = 0
        self._now = time.monotonic
        self._modules = sys.modules

    # Collection.

    def case(self, tail, name, place=("", 0), pseudo=False):
        """A test of this module, `tail` being its id after the path. Not yet announced."""
        id = self.module + "::" + _ADDRESS.sub("0x\u2026", _CONTROL.sub(_escaped, clean(tail)))
        count = self._seen[id] = self._seen.get(id, 0) + 1
        if count > 1:
            id = "%s#%d" % (id, count)
        file, line = place
        return Case(id, name, file or self.file, line, pseudo)

    def selected(self, case, also=()):
        """`also`: further names, after the module's, by which it may be asked for."""
        if self._only is None:
            return True
        names = (self.module + "::" + name for name in also)
        return any(id in self._only for ids in (_holders(case.id), names) for id in ids)

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
        """Whether nothing has been told yet of what the module holds, or why it cannot be known."""
        return not self.ready_written and self._collected == 0

    # A test's life.

    def start(self, case):
        case.began = self._now()
        self.events.write("start", id=case.id, time=round(case.began, 6))
        self._tell_shim("begin_test", case.id)

    def subtest(self, case, label, state, reason=None, failure=None):
        # Passing and skipped sub-tests leave the deciding to the others.
        case.outcomes.append(Outcome(state, "call", reason, None, own=False))
        told = self._budget.failures([failure] if failure else [])
        self.events.write(
            "subtest",
            id=case.id,
            label=self._budget.line(label),
            state=state,
            reason=self._budget.line(reason),
            failure=told[0] if told else None,
        )

    def end(self, case):
        """Writes the case's one state. A case that was never started took no time."""
        if case.began is None:
            duration = 0.0
        else:
            duration = self._now() - case.began
            self._tell_shim("end_test")
        self._ended += 1
        self._tell_end(case, duration)

    def amend(self, case):
        """Another `end` of a case: the framework has taken back what the first one said."""
        self._tell_end(case, self._now() - case.began)

    def _tell_end(self, case, duration):
        keys = verdict(case.outcomes)
        keys["reason"] = self._budget.line(keys.get("reason"))
        told = self._budget.failures(keys.pop("failures"))
        keys["failure"], keys["also"] = told[0] if told else None, told[1:] or None
        (self._bad.add if keys["state"] in self._broken else self._bad.discard)(case.id)
        self.events.write("end", id=case.id, duration_s=round(duration, 6), **keys)

    def has_enough(self, running=None):
        """Whether `maxfail` is reached, the case that still runs counted by what is known of it."""
        failing = running is not None and any(o.state in FAILING for o in running.outcomes)
        return 0 < self._maxfail <= len(self._bad) + failing

    def pseudo(self, tail, name, outcomes, place=("", 0)):
        """A row that is no test, announced and ended at once."""
        case = self.announce(self.case(tail, name, place, pseudo=True))
        case.outcomes.extend(outcomes)
        self.end(case)

    def fixture(self, tail):
        self.events.write(
            "fixture", id=self.module + "::" + clean(tail), time=round(self._now(), 6)
        )

    def finish(self, closing=None):
        """`closing`: the framework's own last lines, or its counts in their form."""
        self.events.write(
            "finish", collected=self._collected, ended=self._ended, closing=closing
        )

    def _tell_shim(self, function, *args):
        shim = self._modules.get("compat_shim")
        if shim is None:
            return
        try:
            getattr(shim, function)(*args)
        except Exception as error:
            self.events.complain("compat_shim.%s: %r" % (function, error))


def verdict(outcomes):
    """The keys of an `end` from the outcomes in the order in which they came, its `failure` and `also`
    together as `failures`.

    The first that failed decides; without one, the first that did not simply pass. A test of which
    nothing was reported has not passed.
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
    failing = [o for o in outcomes if o.state in FAILING]
    notable = [o for o in outcomes if o.state != "passed"]
    decisive = (failing or notable or outcomes)[0]

    own = [o for o in outcomes if o.own]
    by_framework = own[0].state if own else "passed"
    told = [o for o in own if o.failure is not None]
    if failing:
        told = [o for o in told if o.state in FAILING]
    failures = [dict(o.failure, counted=o.state) for o in told]
    if failures and failures[0]["counted"] == decisive.state:
        del failures[0]["counted"]  # as the state says
    return {
        "state": decisive.state,
        "phase": decisive.phase,
        "reason": next((o.reason for o in [decisive] + own if o.reason is not None), None),
        "call": by_framework if by_framework != decisive.state else None,
        "failures": failures,
    }


def _escaped(match):
    """An id is one line, also in the file of `--only`."""
    return match.group().encode("unicode_escape").decode("ascii")
