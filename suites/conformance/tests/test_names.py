"""Tests every public name of torch.cuda and related modules of the installed torch: each is
answered or refused on purpose. A name that nobody has decided about fails."""

import importlib
import inspect
import pkgutil
import re
import unittest
import warnings

import torch

import cuda_answers
import other_answers
from conformance import ConformanceTest

BACKENDS = ("cuda", "cudnn", "cudnn.rnn", "cusparselt")


def modules():
    for package in (torch.cuda, torch.accelerator):
        yield package.__name__
        for found in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
            if not any(part.startswith("_") for part in found.name.split(".")):
                yield found.name
    for name in BACKENDS:
        yield "torch.backends." + name


def public_names_of(module_name):
    """The names that a module declares public, or else the names that it defines, and functions
    that it defines beside its declarations."""
    shown = importlib.import_module(module_name)
    # Some modules of torch.backends are shown as an object with properties.
    module = getattr(shown, "m", shown)
    declared = set(getattr(module, "__all__", ()))
    own = (module_name,) if declared else (module_name, None)
    names = declared | {
        name for name, value in vars(module).items() if getattr(value, "__module__", None) in own
    }
    if shown is not module:
        names |= set(vars(type(shown)))
    for name in sorted(names):
        value = getattr(shown, name)
        if not name.startswith("_") and not inspect.ismodule(value):
            yield f"{module_name}.{name}", value


def public_names():
    """Each once: what another module had before under its own name is the same thing."""
    seen = {}
    for module_name in modules():
        for name, value in public_names_of(module_name):
            named = inspect.isroutine(value) or inspect.isclass(value)
            if named and id(value) in seen:
                continue
            seen[id(value) if named else name] = (name, value)
    return {name for name, _ in seen.values()}


PUBLIC = public_names()


def found(path):
    """The object in torch with this dotted path; None if this torch lacks it."""
    owner = torch
    for part in path.split("."):
        owner = getattr(owner, part, None)
    return owner


def is_there(name):
    """Whether this torch has the symbol that a refusal names, which may end in a call."""
    return found(name.partition("(")[0].removeprefix("torch.")) is not None


def is_member(name):
    """Whether it names what a class of this torch has; PUBLIC has names of modules alone."""
    owner, _, member = name.removeprefix("torch.").rpartition(".")
    return owner != "" and inspect.isclass(found(owner)) and hasattr(found(owner), member)


WHERE_THE_HOST_SAYS = {
    **cuda_answers.WHERE_THE_HOST_SAYS,
    **other_answers.REFUSED_WHERE_REDIRECTED,
}
ANSWERS = {**cuda_answers.ANSWERS, **other_answers.ANSWERS}
REFUSED = {
    name: call
    for name, call in {**cuda_answers.REFUSED, **other_answers.REFUSED}.items()
    if is_there(name)
}


def matches(expected, answer):
    if isinstance(expected, type) and not isinstance(answer, type):
        return type(answer) is expected
    if not isinstance(expected, type) and callable(expected):
        return expected(answer)
    return type(answer) is type(expected) and answer == expected


class NamesTest(ConformanceTest):
    def check(self, name):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            if name in REFUSED:
                self.check_refused(name, REFUSED[name])
            elif name in ANSWERS:
                self.check_answered(*ANSWERS[name])
            elif name in WHERE_THE_HOST_SAYS:
                call, expected = WHERE_THE_HOST_SAYS[name]
                try:
                    call()
                except NotImplementedError:
                    self.check_refused(name, call)
                else:
                    self.check_answered(call, expected)
            else:
                self.fail(f"{name} is new: decide whether it is answered or refused")

    def check_answered(self, call, expected):
        answers = []
        added = self.recorded(lambda: answers.append(call()))
        self.assertTrue(matches(expected, answers[0]), answers[0])
        self.assertEqual([key for key in added if key[0] == "refusal"], [])

    def check_refused(self, symbol, call):
        name = re.escape(symbol)
        simulated = torch.empty(0, device="cuda").is_cuda  # a GPU has it: no refusal is recorded
        form = rf"^{name} is not available on this device: .+ \[symbol: {name}\]$"
        if simulated:
            form = rf"^{name} is not simulated: .+; .+$"
        added = self.recorded(lambda: self.assertRaisesRegex(NotImplementedError, form, call))
        self.assertEqual(added, {} if simulated else {("refusal", symbol, None, None): 1})

    def test_no_case_is_about_a_name_that_is_gone(self):
        version = ".".join(torch.__version__.split(".")[:2])
        if version not in other_answers.CHECKED:
            self.skipTest(f"the tables were not checked with torch {version}")
        gone = (ANSWERS.keys() | WHERE_THE_HOST_SAYS.keys()) - PUBLIC
        gone = {name for name in gone if not is_member(name)}
        self.assertEqual({n for n in gone if not n.startswith(other_answers.CHECKED[version])}, set())


def _test_of(name):
    return lambda self: self.check(name)


MEMBERS = {name for name in ANSWERS.keys() | WHERE_THE_HOST_SAYS.keys() if is_member(name)}
for _name in sorted(PUBLIC | REFUSED.keys() | MEMBERS):
    setattr(NamesTest, "test_" + re.sub(r"\W+", "_", _name), _test_of(_name))


if __name__ == "__main__":
    unittest.main()
