// A run for the reports that CI reads: the sample run with texts of which each format forbids some.
#pragma once

#include "reports/ci/junit.h"
#include "tests/reports/sample_run.h"

namespace compat::reports::samples {

// Text that breaks XML, JSON, a terminal or a line: the end of CDATA, escapes, NUL, a text
// direction, a lone surrogate, bytes that are not UTF-8, U+FFFF, GitHub's own commands.
inline const std::string kHostile =
    std::string("]]> \x1b[31mred\x1b[0m \0 ", 19) +
    "\u202E<b>&\"' \xED\xA0\x80 \xFF \uFFFF 100%\r\n::error file=x::y\n\x01 %0A";

// A test that passed after it had failed, with a failure of 1 MB in another test of its module.
inline Run hostile_run(const fs::path& root) {
    Run stored = run(root);
    store::JobResult& first = stored.modules[0].attempts[0];
    auto& cases = first.record.cases;
    cases[2].failure->message = kHostile;
    cases[2].failure->traceback = kHostile + std::string(1 << 20, 'x');
    cases[3].id = "tests/ops/test_a.py::T::test_e[a::b]" + kHostile.substr(0, 9);
    cases[4].reason = kHostile;
    for (store::JobResult& diagnostic : stored.modules[0].diagnostics)
        diagnostic.only = {cases[3].id};
    parsers::diagnose(first.record);
    store::JobResult again;
    again.record.path = first.record.path;
    again.record.framework = first.record.framework;
    again.attempt = 3;
    again.kind = AttemptKind::again;
    again.record.cases = {cases[9], cases[2]};
    again.record.cases[0].state = State::passed;
    again.record.cases[0].reason.clear();
    again.only = {cases[9].id, cases[2].id};
    again.log = "modules/tests/ops/test_a.py/3.log";
    stored.modules[0].attempts.push_back(again);
    return stored;
}

template <class Make>
std::string rendered(const Model& model, Make make) {
    std::string text;
    const auto renderer = make(model, [&](std::string_view bytes) { text += bytes; });
    for (const ModuleView& module : model.modules) renderer->add(module);
    renderer->finish();
    return text;
}

}  // namespace compat::reports::samples
