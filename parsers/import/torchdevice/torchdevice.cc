#include "parsers/import/torchdevice/torchdevice.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <cstdlib>

#include "parsers/ending.h"
#include "parsers/text.h"
#include "runner/base/framework.h"
#include "runner/base/host.h"

namespace compat::parsers {

ModuleRecord torchdevice_module(std::string_view module) {
    ModuleRecord record;
    record.path = valid_utf8(trimmed(module));
    std::replace(record.path.begin(), record.path.end(), '.', '/');
    record.path += ".py";
    record.framework = name_of(Framework::unittest);
    record.from_text = true;
    return record;
}

double torchdevice_seconds(std::string_view text) {
    static const RE2 kDuration(
        R"((?:(\d{1,9}) days?, )?(\d{1,9}):(\d{1,9}):(\d{1,9}(?:\.\d{1,9})?))");
    std::int64_t hours = 0;
    std::int64_t minutes = 0;
    std::string day, seconds;
    text = trimmed(text);
    if (!RE2::FullMatch({text.data(), text.size()}, kDuration, &day, &hours, &minutes, &seconds))
        return 0;
    const std::int64_t days = number_of(day).value_or(0);
    return static_cast<double>(days * 86'400 + hours * 3'600 + minutes * 60) +
           std::strtod(seconds.c_str(), nullptr);
}

std::optional<std::int64_t> torchdevice_code(std::string_view text) {
    const bool negative = text.starts_with('-');
    const auto value = number_of(text.substr(negative ? 1 : 0));
    return value && negative ? std::optional(-*value) : value;
}

ProcessEnd torchdevice_end(std::int64_t return_code) {
    constexpr std::int64_t kMost = 1'000'000;
    const int code = static_cast<int>(std::clamp(return_code, -kMost, kMost));
    if (code >= 0) return {ProcessEnd::Kind::exited, code, {}};
    if (code == -1)
        return {ProcessEnd::Kind::spawn_failed, 0, "return code -1: the script could not run it"};
    return {ProcessEnd::Kind::signaled, -code, signal_name(-code)};
}

void set_torchdevice_outcome(ModuleRecord& record, std::int64_t return_code, double duration_s) {
    constexpr std::int64_t kNoTests = 5;  // of unittest since Python 3.12
    const ProcessEnd end = torchdevice_end(return_code);
    const bool exited = end.kind == ProcessEnd::Kind::exited;
    if (!exited || return_code == kNoTests) {
        settle(record, {}, {.ready = true, .finished = exited, .fixture = {}, .last_end = {}}, end);
    } else if (return_code != 0) {
        CaseRecord& row = record.cases.emplace_back();
        row.id = record.path + "::<module>";
        row.name = "<module>";
        row.pseudo = true;
        row.state = State::errored;
        row.failure.emplace().message = explain(end) + ", and no test is named";
        row.failure->counted = State::errored;
        record.collected = 1;
    }
    record.ready = true;
    for (CaseRecord& row : record.cases) row.duration_s = duration_s;
}

}  // namespace compat::parsers
