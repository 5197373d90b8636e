// Invariants of the parts of any imported file, whatever its bytes. Shared by the tests of all
// dialects.
#pragma once

#include <fmt/format.h>

#include <string>
#include <unordered_set>
#include <vector>

#include "parsers/import/importers.h"
#include "parsers/text.h"

namespace compat::parsers::testing {

struct ImportedParts {
    std::vector<ModuleRecord> parts;
    std::vector<Diagnostic> diagnostics;
};

inline ImportedParts imported_parts(Dialect dialect, std::string_view name,
                                    std::string_view bytes) {
    ImportedParts all;
    all.diagnostics = read_result_file(
        dialect, {name, bytes}, [&](ModuleRecord part) { all.parts.push_back(std::move(part)); });
    return all;
}

inline std::string broken_failure(const Failure& failure) {
    for (const std::string& text : {failure.type, failure.message, failure.traceback})
        if (valid_utf8(text) != text) return "a failure that is no UTF-8";
    for (const Frame& frame : failure.frames)
        for (const std::string& text : {frame.file, frame.function})
            if (valid_utf8(text) != text) return "a frame that is no UTF-8";
    return {};
}

inline std::string broken_case(const CaseRecord& c) {
    if (c.id.empty()) return "a case without an id";
    const bool explained =
        c.state == State::crashed || c.state == State::timed_out || c.state == State::not_run;
    if (explained && c.reason.empty())
        return fmt::format("{} is {} without a reason", c.id, name_of(c.state));
    for (const std::string& text : {c.id, c.name, c.reason})
        if (valid_utf8(text) != text) return "text that is no UTF-8";
    std::vector<const Failure*> failures;
    if (c.failure) failures.push_back(&*c.failure);
    for (const Failure& more : c.also) failures.push_back(&more);
    for (const SubCase& sub : c.subcases) {
        for (const std::string& text : {sub.label, sub.reason})
            if (valid_utf8(text) != text) return "a sub-test that is no UTF-8";
        if (sub.failure) failures.push_back(&*sub.failure);
    }
    for (const Failure* failure : failures)
        if (std::string broken = broken_failure(*failure); !broken.empty()) return broken;
    return {};
}

// Reads the file and names the first invariant that does not hold; empty where all do.
inline std::string broken_import_invariant(Dialect dialect, std::string_view bytes) {
    const ImportedParts all = imported_parts(dialect, "file.log", bytes);
    std::vector<Diagnostic> diagnostics = all.diagnostics;
    for (const ModuleRecord& part : all.parts) {
        std::unordered_set<std::string> ids;
        for (const CaseRecord& c : part.cases) {
            if (std::string broken = broken_case(c); !broken.empty()) return broken;
            if (!ids.insert(c.id).second) return "two cases with one id: " + c.id;
        }
        if (part.collected < 0) return "less than nothing collected";
        if (!part.from_text) return "a part that is not from text";
        if (valid_utf8(part.path) != part.path) return "a path that is no UTF-8";
        const bool silent =
            part.outcome == ModuleOutcome::completed || part.outcome == ModuleOutcome::load_error;
        if (!silent && part.reason.empty()) return "an outcome without a reason";
        diagnostics.insert(diagnostics.end(), part.diagnostics.begin(), part.diagnostics.end());
    }
    for (const Diagnostic& d : diagnostics)
        if (d.offset < 0 || d.offset > static_cast<std::int64_t>(bytes.size()) ||
            valid_utf8(d.message) != d.message)
            return fmt::format("a diagnostic out of place: {} {}", d.offset, d.message);
    if (all.parts.empty() && all.diagnostics.empty()) return "a file of which nothing is said";
    return {};
}

}  // namespace compat::parsers::testing
