// All that is known of one attempt at one module, from the files it left: the one entry for
// whoever has run it. Not for joining attempts: that is the store's and the reports' business.
#pragma once

#include <string>
#include <string_view>

#include "parsers/record.h"
#include "parsers/text_source.h"
#include "runner/base/framework.h"

namespace compat::parsers {

// Reads an attempt's results from the text of its log: read_attempt_log of import/importers.h,
// which this library does not link.
using LogReader = ModuleRecord (*)(Framework framework, std::string_view log, const ProcessEnd& end,
                                   std::string_view module);

// An attempt's files; empty where there is no such file. Their bytes need only live for the
// call. The log is read where the events leave something open: how the process died, what the
// framework said at its end.
struct AttemptFiles {
    LineSource events;
    TextSource log;
    LineSource devices;
    Isolation isolation{};
    // For the MACs of the events (runner/base/line_mac.h): lines without one are not the harness's.
    // Empty: nobody has it any more.
    std::string key{};
    LogReader log_reader = nullptr;  // null: without events nothing is known of the tests
    LineSource hub{""};
};

// The events decide. Where there are none that can be read, the log's text does, if `framework` is
// one of Python's, and a diagnostic says so. The framework's summary is what the harness
// says it is, else looked for in the log, only where the framework had finished; one that is
// missing there then (its output was closed or redirected by the suite, or dropped from a log that
// grew too long) is a diagnostic, never a mismatch. One that says other numbers than the harness
// has from the framework is a contradiction. So are events of which the harness wrote none, where
// the framework's process ended in order. Never fails, on any bytes.
[[nodiscard]] ModuleRecord read_attempt(const AttemptFiles& files, std::string_view framework,
                                        std::string_view module, const ProcessEnd& end);

// Whether a reader without the key may come to another record.
[[nodiscard]] bool needs_key(const ModuleRecord& record);

// Gives every failure its diagnosis and signature; read_attempt has done so.
void diagnose(ModuleRecord& record, const Isolation& isolation = {});

}  // namespace compat::parsers
