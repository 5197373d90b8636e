#include "parsers/record.h"

#include <algorithm>
#include <functional>

#include "parsers/text.h"

namespace compat::parsers {

namespace {

// The enumerations number their names from 0 without gaps.
template <class Enum, class Names, class NameIn = std::identity>
std::optional<Enum> by_name(const Names& names, std::string_view name, NameIn name_in = {}) {
    const auto it = std::ranges::find(names, name, name_in);
    if (it == names.end()) return std::nullopt;
    return static_cast<Enum>(it - names.begin());
}

// TorchScript repeats its own traceback before the error: "…\n    return x.eigh()\n ~~~ <--- HERE\n
// RuntimeError: …".
std::string_view without_torchscript(std::string_view message) {
    constexpr std::string_view kBegins =
        "The following operation failed in the TorchScript interpreter.";
    constexpr std::string_view kHere = "<--- HERE\n";
    if (!message.starts_with(kBegins)) return message;
    const size_t here = message.rfind(kHere);
    if (here == std::string_view::npos) return message;
    const std::string_view error = message.substr(here + kHere.size());
    return trimmed(error).empty() ? message : error;
}

}  // namespace

std::optional<State> state_of(std::string_view name) { return by_name<State>(kStateNames, name); }

std::optional<ModuleOutcome> module_outcome_of(std::string_view name) {
    return by_name<ModuleOutcome>(kModuleOutcomeNames, name);
}

std::optional<Phase> phase_of(std::string_view name) { return by_name<Phase>(kPhaseNames, name); }

std::optional<Cause> cause_of(std::string_view name) {
    return by_name<Cause>(kCauses, name, &CauseWords::name);
}

std::optional<ErrorClass> error_class_of(std::string_view name) {
    return by_name<ErrorClass>(kErrorClassNames, name);
}

std::optional<Confidence> confidence_of(std::string_view name) {
    return by_name<Confidence>(kConfidenceNames, name);
}

std::string Failure::key_line() const { return diagnosis ? diagnosis->key_line : first_line(); }

std::string CaseRecord::why() const {
    if (failure) return failure->key_line();
    const auto sub = std::ranges::find_if(subcases, [](const SubCase& s) {
        return s.failure && (s.state == State::failed || s.state == State::errored);
    });
    return sub == subcases.end() ? reason : sub->failure->key_line();
}

std::string Failure::first_line() const {
    const std::string_view said = without_torchscript(message);
    std::string_view first;
    for (Lines lines(said); lines.next();)
        if (first = trimmed(lines.line()); !first.empty()) break;
    if (first.empty()) return type;
    if (type.empty() || first.starts_with(type + ": ")) return std::string(first);
    return type + ": " + std::string(first);
}

}  // namespace compat::parsers
