// Lines of the harness's events, and what tests read from their record.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <vector>

#include "parsers/events.h"

namespace compat::parsers::testing {

inline constexpr std::string_view kSession =
    R"({"event":"session","pid":7,"format":1,"framework":"unittest","framework_version":"3.11.2","python":"3.11.2"})"
    "\n";

inline std::string collected(std::string_view id) {
    return fmt::format(
        R"({{"event":"collected","pid":7,"id":"{}","name":"n","file":"/s/m.py","line":3}})"
        "\n",
        id);
}
inline std::string start(std::string_view id) {
    return fmt::format(R"({{"event":"start","pid":7,"id":"{}","time":1.5}})"
                       "\n",
                       id);
}
inline std::string passed(std::string_view id) {
    return fmt::format(
        R"({{"event":"end","pid":7,"id":"{}","state":"passed","phase":"call","duration_s":0.25}})"
        "\n",
        id);
}
inline constexpr std::string_view kReady = R"({"event":"ready","pid":7,"collected":3})"
                                           "\n";

// Three tests: the first has ended, the second has begun.
inline std::string begun() {
    return std::string(kSession) + collected("m.py::A::a") + collected("m.py::A::b") +
           collected("m.py::A::c") + std::string(kReady) + start("m.py::A::a") +
           passed("m.py::A::a") + start("m.py::A::b");
}
// As above, the second ended, too.
inline std::string between() { return begun() + passed("m.py::A::b"); }

inline constexpr std::string_view kFinish = R"({"event":"finish","pid":7})"
                                            "\n";

inline std::string session_of(std::string_view framework) {
    return fmt::format(R"({{"event":"session","pid":7,"format":1,"framework":"{}"}})"
                       "\n",
                       framework);
}
// An end in `state`; where it broke, of an exception of this type.
inline std::string ended(std::string_view id, std::string_view state, std::string_view type = "E") {
    const bool broke = state == "failed" || state == "errored";
    const std::string failure =
        broke ? fmt::format(R"(,"failure":{{"type":"{}","message":"0"}})", type) : std::string();
    return fmt::format(R"({{"event":"end","pid":7,"id":"{}","state":"{}","phase":"call"{}}})"
                       "\n",
                       id, state, failure);
}
inline std::string pseudo(std::string_view id) {
    return fmt::format(R"({{"event":"collected","pid":7,"id":"{}","pseudo":true}})"
                       "\n",
                       id);
}
inline std::string fixture(std::string_view id) {
    return fmt::format(R"({{"event":"fixture","pid":7,"id":"{}"}})"
                       "\n",
                       id);
}
// One test that ended in `state`, and the framework that returned after it.
inline std::string finished(std::string_view framework, std::string_view state) {
    return session_of(framework) + collected("m.py::a") + std::string(kReady) + start("m.py::a") +
           ended("m.py::a", state) + std::string(kFinish);
}

inline std::vector<std::string> rows(const ModuleRecord& record) {
    std::vector<std::string> out;
    for (const CaseRecord& c : record.cases)
        out.push_back(fmt::format("{} {}{}{}", c.id, name_of(c.state), c.reason.empty() ? "" : ": ",
                                  c.reason));
    return out;
}

inline std::vector<std::string> messages(const ModuleRecord& record) {
    std::vector<std::string> out;
    for (const Diagnostic& d : record.diagnostics)
        out.push_back(fmt::format("{}@{}: {}", d.file, d.offset, d.message));
    return out;
}

inline const ProcessEnd kExit0{ProcessEnd::Kind::exited, 0, {}};
inline const ProcessEnd kExit1{ProcessEnd::Kind::exited, 1, {}};
inline const ProcessEnd kExit3{ProcessEnd::Kind::exited, 3, {}};
inline const ProcessEnd kSigint{ProcessEnd::Kind::signaled, 2, "SIGINT"};
inline const ProcessEnd kSegv{ProcessEnd::Kind::signaled, 11, "SIGSEGV"};
inline const ProcessEnd kTimeout{ProcessEnd::Kind::timed_out, 0, "after 30m"};
inline const ProcessEnd kStopped{ProcessEnd::Kind::stopped, 0, "interrupted"};

// A line of a harness that numbers its lines.
inline std::string numbered(int seq, std::string_view event, std::string_view more = {}) {
    return fmt::format(R"({{"event":"{}","pid":7,"seq":{}{}}})"
                       "\n",
                       event, seq, more);
}
inline std::string with_id(std::string_view id, std::string_view more = {}) {
    return fmt::format(R"(,"id":"{}"{})", id, more);
}

}  // namespace compat::parsers::testing
