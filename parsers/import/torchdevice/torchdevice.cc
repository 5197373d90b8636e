#include "parsers/import/torchdevice/torchdevice.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <limits>

#include "parsers/diagnosis/traceback.h"
#include "parsers/ending.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

struct Fixture {
    std::string_view method;
    Phase phase;
};
constexpr std::array<Fixture, 4> kFixtures{{{"setUpClass", Phase::class_setup},
                                            {"tearDownClass", Phase::class_teardown},
                                            {"setUpModule", Phase::module_setup},
                                            {"tearDownModule", Phase::module_teardown}}};

// What the scripts call a failure that is of no test.
constexpr std::array<std::string_view, 2> kOfModule{"MODULE_LEVEL_ERROR_", "RUNNER_ERROR_"};

// unittest runs a test of its own in place of a module that it cannot load: named as the module.
bool is_load_failure(std::string_view path, std::string_view classes, std::string_view method) {
    if (classes == "_FailedTest") return true;
    const std::string_view file = path.substr(path.find_last_of('/') + 1);
    return classes.empty() && file.size() == method.size() + 3 && file.starts_with(method);
}

struct StateWord {
    std::string_view word;
    State state;
};
constexpr std::array<StateWord, 12> kStateWords{{{"FAIL", State::failed},
                                                 {"FAILED", State::failed},
                                                 {"FAILURE", State::failed},
                                                 {"ERROR", State::errored},
                                                 {"SKIPPED", State::skipped},
                                                 {"SKIP", State::skipped},
                                                 {"SUCCESS", State::passed},
                                                 {"PASSED", State::passed},
                                                 {"OK", State::passed},
                                                 {"EXPECTED FAILURE", State::xfailed},
                                                 {"UNEXPECTED SUCCESS", State::xpassed},
                                                 {"CRITICAL_FAILURE", State::crashed}}};

struct SignalName {
    int number;
    std::string_view name;
};
// Those that have one number on Linux and macOS.
constexpr std::array<SignalName, 9> kSignals{{{1, "SIGHUP"},
                                              {2, "SIGINT"},
                                              {3, "SIGQUIT"},
                                              {4, "SIGILL"},
                                              {5, "SIGTRAP"},
                                              {6, "SIGABRT"},
                                              {9, "SIGKILL"},
                                              {11, "SIGSEGV"},
                                              {15, "SIGTERM"}}};

// The exit code of Python's unittest where there was no test to run.
constexpr std::int64_t kNoTests = 5;

}  // namespace

std::string torchdevice_path(std::string_view module) {
    std::string path = valid_utf8(trimmed(module));
    std::replace(path.begin(), path.end(), '.', '/');
    return path + ".py";
}

CaseRecord torchdevice_case(std::string_view path, std::string_view classes,
                            std::string_view method, State state, std::string_view traceback,
                            std::string_view key_line) {
    CaseRecord row;
    row.state = state;
    row.name = valid_utf8(method);
    const auto* const fixture =
        std::find_if(kFixtures.begin(), kFixtures.end(),
                     [&](const Fixture& known) { return known.method == method; });
    const bool of_module =
        is_load_failure(path, classes, method) ||
        std::any_of(kOfModule.begin(), kOfModule.end(),
                    [&](std::string_view word) { return method.starts_with(word); });
    std::string tail(method);
    if (of_module) {
        tail = row.name = "<module>";
        row.pseudo = row.started = true;
        row.phase = Phase::load;
    } else if (fixture != kFixtures.end()) {
        tail = row.name = fmt::format("<{}>", method);
        row.pseudo = true;
        row.phase = fixture->phase;
    } else {
        row.started = true;
    }
    const bool in_class = !of_module && !classes.empty();
    row.id = valid_utf8(in_class ? fmt::format("{}::{}::{}", path, classes, tail)
                                 : fmt::format("{}::{}", path, tail));
    if (state != State::failed && state != State::errored) return row;
    Failure failure = parse_traceback(traceback);
    // Without a traceback its first line would be taken for the message.
    if (traceback.find("Traceback (most recent call last):") == std::string_view::npos ||
        failure.first_line().empty()) {
        const Failure told = parse_traceback(trimmed(key_line));
        failure.type = told.type;
        failure.message = told.message;
    }
    failure.counted = state;
    failure.phase = row.phase;
    row.failure = std::move(failure);
    return row;
}

std::optional<State> torchdevice_state(std::string_view word) {
    for (const StateWord& known : kStateWords)
        if (known.word == word) return known.state;
    return std::nullopt;
}

double torchdevice_seconds(std::string_view text) {
    text = trimmed(text);
    double days = 0;
    if (const size_t day = text.find(" day"); day != std::string_view::npos) {
        const auto count = number_of(text.substr(0, day));
        const size_t comma = text.find(", ", day);
        if (!count || comma == std::string_view::npos) return 0;
        days = static_cast<double>(*count);
        text.remove_prefix(comma + 2);
    }
    double seconds = 0;
    for (int i = 0; i < 3; ++i) {
        const size_t colon = std::min(text.find_first_of(":."), text.size());
        const auto value = number_of(text.substr(0, colon));
        if (!value) return 0;
        seconds = seconds * 60 + static_cast<double>(*value);
        const bool fraction = i == 2 && colon < text.size() && text[colon] == '.';
        text.remove_prefix(std::min(colon + 1, text.size()));
        if (fraction) {
            const auto part = number_of(text);
            if (!part || text.size() > 9) return 0;
            double scale = 1;
            for (size_t digit = 0; digit < text.size(); ++digit) scale *= 10;
            seconds += static_cast<double>(*part) / scale;
            text = {};
        }
    }
    return text.empty() ? days * 86'400 + seconds : 0;
}

ProcessEnd torchdevice_end(std::int64_t return_code) {
    ProcessEnd end;
    if (return_code < std::numeric_limits<int>::min() + 1 ||
        return_code > std::numeric_limits<int>::max())
        return_code = return_code < 0 ? -1 : 1;
    const int code = static_cast<int>(return_code);
    if (code >= 0) {
        end.code = code;
    } else if (code == -1) {
        end.kind = ProcessEnd::Kind::spawn_failed;
        end.detail = "return code -1: the script could not run it";
    } else {
        end.kind = ProcessEnd::Kind::signaled;
        end.code = -code;
        for (const SignalName& known : kSignals)
            if (known.number == -code) end.detail = known.name;
    }
    return end;
}

void set_torchdevice_outcome(ModuleRecord& record, std::int64_t return_code, double duration_s) {
    const ProcessEnd end = torchdevice_end(return_code);
    record.ready = true;
    if (end.kind != ProcessEnd::Kind::exited || return_code == 0 || return_code == kNoTests) {
        const bool finished = end.kind == ProcessEnd::Kind::exited;
        settle(record, {}, {.ready = true, .finished = finished, .fixture = {}, .last_end = {}},
               end);
        // That it names no test does not say that it holds none.
        if (return_code == 0) {
            record.outcome = ModuleOutcome::completed;
            record.reason.clear();
        }
    } else {
        record.outcome = ModuleOutcome::completed;
        CaseRecord row = torchdevice_case(record.path, {}, kOfModule[0], State::errored, {},
                                          fmt::format("{}, and no test is named", explain(end)));
        row.started = false;
        row.phase = Phase::call;
        row.failure->phase = row.phase;
        record.cases.push_back(std::move(row));
        record.collected = 1;
    }
    for (CaseRecord& row : record.cases) row.duration_s = duration_s;
}

}  // namespace compat::parsers
