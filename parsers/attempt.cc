#include "parsers/attempt.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "parsers/crash_excerpt.h"
#include "parsers/devices.h"
#include "parsers/diagnosis/diagnose.h"
#include "parsers/diagnosis/signature.h"
#include "parsers/events.h"
#include "parsers/framework_summary.h"
#include "parsers/hub_uses.h"
#include "parsers/text.h"
#include "runner/base/device_kind.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

template <class T>
void append(std::vector<T>& to, std::vector<T> from) {
    to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
}

constexpr int kCannotWrite = 74;  // with which a harness exits that cannot write its events

// A harness that cannot write its events says why in the log, which may be on the same full disk.
void explain_lost_events(ModuleRecord& record, const ProcessEnd& end) {
    if (end.kind != ProcessEnd::Kind::exited || end.code != kCannotWrite || record.finished) return;
    for (CaseRecord& test : record.cases)
        if (test.state == State::crashed && test.failure && test.failure->message.empty())
            test.failure->message = "its results could not be written; is the disk full?";
}

// pytest-timeout (method=thread) ends the process with exit code 1: only the log says why.
ProcessEnd end_said_in(const TextSource& log, const ProcessEnd& end) {
    if (end.kind != ProcessEnd::Kind::exited || end.code != 1) return end;
    std::string_view text = trimmed(log.text());
    text.remove_suffix(text.size() - (text.find_last_not_of('+') + 1));
    if (!text.ends_with("+ Timeout ")) return end;
    return {.kind = ProcessEnd::Kind::timed_out, .detail = "by pytest-timeout"};
}

// Whether the events are gone though the harness had run the tests of which the text tells.
bool has_lost_events(const ModuleRecord& from_text, std::string_view key, const ProcessEnd& end) {
    return !key.empty() && end.kind == ProcessEnd::Kind::exited && end.code != kCannotWrite &&
           std::any_of(from_text.cases.begin(), from_text.cases.end(),
                       [](const CaseRecord& test) { return !test.pseudo; });
}

ModuleRecord from_text(EventsResult events, const AttemptFiles& files, Framework framework,
                       const ProcessEnd& end) {
    ModuleRecord record = files.log_reader(framework, files.log.text(), end, events.record.path);
    append(record.diagnostics, std::move(events.record.diagnostics));
    record.diagnostics.push_back(
        {"events", 0,
         fmt::format("{}no events that can be read; the log's text was read instead",
                     has_lost_events(record, files.key, end) ? kContradiction : "")});
    return record;
}

// Where the framework had finished, its closing lines: those that the harness has from it, else
// those of the log.
void complete_closing(ModuleRecord& record, std::string_view log, bool is_in_log) {
    const auto add = [&](size_t offset, std::string message) {
        record.diagnostics.push_back(
            {"log", static_cast<std::int64_t>(offset), std::move(message)});
    };
    auto found = find_summary(log, record.framework);
    if (!found && (!record.closing || is_in_log))
        add(log.size(), "the framework had finished, but its closing line is not in the log");
    if (!record.closing) {
        if (found) record.closing = std::move(found->summary);
    } else if (is_in_log) {
        if (const auto other = find_contradiction(log, *record.closing, record.framework))
            add(other->begin,
                fmt::format("{}the closing line in the log is \"{}\", and the framework has "
                            "counted \"{}\"",
                            kContradiction, other->summary.text, record.closing->text));
    }
}

// If a test says only that sub-tests failed, the first of these says why.
void diagnose_by_subtests(CaseRecord& test) {
    constexpr std::string_view kRule = "failed-subtests";
    if (!test.failure || test.failure->diagnosis->rule != kRule) return;
    for (const SubCase& sub : test.subcases)
        if (sub.failure) {
            test.failure->diagnosis = sub.failure->diagnosis;
            return;
        }
}

template <class Visit>
void each_failure(CaseRecord& test, Visit visit) {
    if (test.failure) visit(*test.failure, test.state);
    for (Failure& failure : test.also) visit(failure, test.state);
    for (SubCase& sub : test.subcases)
        if (sub.failure) visit(*sub.failure, sub.state);
}

// Where the shim neither redirects CUDA nor simulates it, torch itself lacks CUDA's symbols: there
// is no such device, and the shim has no defect.
void acquit_the_shim(ModuleRecord& record) {
    constexpr std::string_view kSymbol = "cuda-symbol-of-torch", kNoDevice = "no-device";
    if (record.shim &&
        (record.shim->mode != "none" || device_kind(record.shim->simulated).serves_cuda))
        return;
    const Rule& rule = *Rules::shipped().find(kNoDevice);
    const auto acquit = [&](Failure& failure, State) {
        if (failure.diagnosis->rule != kSymbol) return;
        failure.diagnosis->rule = rule.id;
        failure.diagnosis->cause = rule.cause;
        failure.diagnosis->error_class = rule.error_class;
    };
    for (CaseRecord& test : record.cases) each_failure(test, acquit);
}

}  // namespace

void diagnose(ModuleRecord& record, const Isolation& isolation) {
    for (CaseRecord& test : record.cases) {
        each_failure(test, [&](Failure& failure, State state) {
            failure.diagnosis =
                Rules::shipped().diagnose(failure, state, isolation, test.generated.any());
            failure.signature = signature_of(failure);
        });
        diagnose_by_subtests(test);
    }
}

bool needs_key(const ModuleRecord& record) {
    return std::any_of(record.diagnostics.begin(), record.diagnostics.end(),
                       [](const Diagnostic& said) {
                           return said.message.starts_with(kContradiction) ||
                                  said.message.find(kForged) != said.message.npos;
                       });
}

ModuleRecord read_attempt(const AttemptFiles& files, std::string_view framework,
                          std::string_view module, const ProcessEnd& how) {
    const ProcessEnd end = end_said_in(files.log, how);
    EventsResult events = parse_events(files.events, end, module, files.key);
    const bool closing_in_log = events.closing_in_log;
    const FrameworkTraits* traits = traits_of(framework);
    const bool textual = !events.usable && files.log_reader && traits && traits->in_python &&
                         !files.log.text().empty();
    ModuleRecord record = textual ? from_text(std::move(events), files, traits->framework, end)
                                  : std::move(events.record);
    add_crash_excerpts(record, files.log, end);
    explain_lost_events(record, end);
    if (record.framework.empty()) record.framework = valid_utf8(framework);
    // A text's own closing line is what its record has.
    if (record.finished)
        complete_closing(record, files.log.text(), closing_in_log && !record.from_text);
    DevicesResult devices = parse_devices(files.devices);
    record.shim = std::move(devices.shim);
    record.device_events = std::move(devices.events);
    record.kernels = std::move(devices.kernels);
    record.collectives = std::move(devices.collectives);
    record.optimizer_steps = std::move(devices.optimizer_steps);
    append(record.diagnostics, std::move(devices.diagnostics));
    const HubUses hub = HubUses::parse(files.hub);
    hub.add_to(record.cases);
    append(record.diagnostics, hub.diagnostics());
    diagnose(record, files.isolation);
    acquit_the_shim(record);
    return record;
}

}  // namespace compat::parsers
