// Invariants of a record, whatever bytes it was read from. Shared by the hostile tests and the
// fuzzer.
#pragma once

#include <fmt/format.h>

#include <string>
#include <unordered_set>

#include "parsers/attempt.h"
#include "parsers/import/importers.h"
#include "parsers/text.h"

namespace compat::parsers::testing {

// Reads the attempt and names the first invariant that does not hold; empty where all do.
inline std::string broken_invariant(AttemptFiles files, std::string_view framework,
                                    std::string_view module, const ProcessEnd& end) {
    files.log_reader = read_attempt_log;
    const ModuleRecord record = read_attempt(files, framework, module, end);
    const auto is_utf8 = [](const std::string& text) { return valid_utf8(text) == text; };
    std::unordered_set<std::string> ids;
    for (const CaseRecord& c : record.cases) {
        if (c.id.empty()) return "a case without an id";
        if (!ids.insert(c.id).second) return "two cases with one id: " + c.id;
        const bool explained =
            c.state == State::crashed || c.state == State::timed_out || c.state == State::not_run;
        if (explained && c.reason.empty())
            return fmt::format("{} is {} without a reason", c.id, name_of(c.state));
        if (!is_utf8(c.id) || !is_utf8(c.name) || !is_utf8(c.reason))
            return "text that is no UTF-8";
        if (c.failure && !(is_utf8(c.failure->type) && is_utf8(c.failure->message) &&
                           is_utf8(c.failure->traceback)))
            return "a failure that is no UTF-8";
    }
    if (record.outcome != ModuleOutcome::completed && record.reason.empty() &&
        record.outcome != ModuleOutcome::load_error)
        return "an outcome without a reason";
    if (record.cases.empty() && record.outcome != ModuleOutcome::no_tests &&
        record.outcome != ModuleOutcome::not_run)
        return "no row at all for a module that was started";
    if (record.collected < 0) return "less than nothing collected";
    for (const Diagnostic& d : record.diagnostics)
        if (d.offset < 0 || !is_utf8(d.message)) return "a diagnostic out of place";
    return {};
}

}  // namespace compat::parsers::testing
