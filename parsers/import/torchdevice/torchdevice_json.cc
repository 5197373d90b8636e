#include "parsers/import/torchdevice/torchdevice_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "parsers/closing.h"
#include "parsers/diagnosis/traceback.h"
#include "parsers/ending.h"
#include "parsers/import/fields.h"
#include "parsers/import/json_document.h"
#include "parsers/import/torchdevice/torchdevice.h"
#include "parsers/jsonl.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

namespace {

using nlohmann::json;

struct NamedPhase {
    std::string_view name;
    Phase phase;
};
constexpr std::array<NamedPhase, 4> kFixtures{{{"setUpClass", Phase::class_setup},
                                               {"tearDownClass", Phase::class_teardown},
                                               {"setUpModule", Phase::module_setup},
                                               {"tearDownModule", Phase::module_teardown}}};

struct NamedState {
    std::string_view name;
    State state;
};
// The script's words for a test, and unittest's in a closing.
constexpr std::array<NamedState, 14> kStates{{{"FAIL", State::failed},
                                              {"FAILED", State::failed},
                                              {"FAILURE", State::failed},
                                              {"ERROR", State::errored},
                                              {"SKIPPED", State::skipped},
                                              {"SUCCESS", State::passed},
                                              {"PASSED", State::passed},
                                              {"OK", State::passed},
                                              {"CRITICAL_FAILURE", State::crashed},
                                              {"failures", State::failed},
                                              {"errors", State::errored},
                                              {"skipped", State::skipped},
                                              {"expected failures", State::xfailed},
                                              {"unexpected successes", State::xpassed}}};

template <class Row>
const Row* row_named(const auto& table, std::string_view name) {
    const Row* const it =
        std::find_if(table.begin(), table.end(), [&](const Row& row) { return row.name == name; });
    return it == table.end() ? nullptr : it;
}

std::string joined_lines(const json& lines) {
    std::string text;
    for (const json& line : lines)
        if (line.is_string()) text += line.get_ref<const std::string&>() + '\n';
    return text;
}

// A number, or a text that is one.
std::optional<std::int64_t> return_code_of(const json& entry) {
    const auto it = entry.find("return_code");
    if (it == entry.end()) return std::nullopt;
    if (it->is_number_integer()) return it->get<std::int64_t>();
    return torchdevice_code(string_at(entry, "return_code"));
}

// Its failure is read from the traceback; where that says nothing, the key line does.
Failure failure_of(const json& details) {
    const std::string traceback = joined_lines(child_at(details, "traceback"));
    Failure failure = parse_traceback(traceback);
    if (traceback.find("Traceback (most recent call last):") == std::string::npos ||
        failure.first_line().empty()) {
        const std::string key_line = string_at(details, "key_error_line");
        const Failure told = parse_traceback(trimmed(key_line));
        failure.type = told.type;
        failure.message = told.message;
    }
    return failure;
}

class Module {
  public:
    Module(const json& entry, std::string_view module, Unnamed::Room& room)
        : entry_(entry), module_(module), room_(room), record_(torchdevice_module(module)) {}

    ModuleRecord read() {
        for (const json& test : child_at(entry_, "test_cases")) read_test(test);
        read_totals();
        const auto code = return_code_of(entry_);
        if (!record_.closing && record_.cases.empty() && code) {
            set_torchdevice_outcome(record_, *code,
                                    torchdevice_seconds(string_at(entry_, "duration")));
            return std::move(record_);
        }
        ProcessEnd end{ProcessEnd::Kind::stopped, 0, "the totals of its log are not told"};
        // That tests broke explains an exit code; without its totals nothing says how it closed.
        if (code && (record_.closing || *code < 0)) end = torchdevice_end(*code);
        record_.collected = static_cast<std::int64_t>(record_.cases.size());
        const std::vector<Progress> progress(record_.cases.size(), Progress::ended);
        const bool finished = record_.closing.has_value();
        settle(record_, progress,
               {.ready = true, .finished = finished, .fixture = {}, .last_end = {}}, end);
        return std::move(record_);
    }

  private:
    // A test that broke, or what broke outside of any: a fixture, the module as a whole, which the
    // script calls MODULE_LEVEL_ERROR_N and unittest a test of its own.
    void read_test(const json& test) {
        const std::string method = test.is_object() ? string_at(test, "name") : std::string();
        const std::string word = test.is_object() ? string_at(test, "status") : std::string();
        const auto* const state = row_named<NamedState>(kStates, word);
        if (method.empty() || !state)
            return say(fmt::format("a test without a name or a known status: \"{}\"", method));
        const std::string classes = classes_of(string_at(test, "class_path"), method);
        const auto* const fixture = row_named<NamedPhase>(kFixtures, method);
        const bool of_module = classes == "_FailedTest" ||
                               method.starts_with("MODULE_LEVEL_ERROR_") ||
                               method.starts_with("RUNNER_ERROR_");
        CaseRecord row;
        row.state = state->state;
        row.name = of_module ? "<module>" : fixture ? fmt::format("<{}>", method) : method;
        row.phase = of_module ? Phase::load : fixture ? fixture->phase : Phase::call;
        row.pseudo = of_module || fixture;
        row.started = !fixture;
        row.id = ids_.unique(of_module || classes.empty()
                                 ? fmt::format("{}::{}", record_.path, row.name)
                                 : fmt::format("{}::{}::{}", record_.path, classes, row.name));
        if (row.state == State::crashed) row.reason = word;
        if (row.state == State::failed || row.state == State::errored) {
            row.failure = failure_of(child_at(test, "error_details"));
            row.failure->counted = row.state;
            row.failure->phase = row.phase;
        }
        record_.cases.push_back(std::move(row));
    }

    // "tests.a.test_b.Outer.Inner", since Python 3.11 with the test's name after it. Of a class
    // from another module its own name.
    [[nodiscard]] std::string classes_of(std::string_view dotted, std::string_view method) const {
        if (dotted.ends_with(fmt::format(".{}", method))) dotted.remove_suffix(method.size() + 1);
        if (dotted == module_) return {};
        if (dotted.starts_with(fmt::format("{}.", module_)))
            return std::string(dotted.substr(module_.size() + 1));
        return place_of_class(dotted).classes;
    }

    // What the log closed with, and rows for what it counts and nothing names. What the script
    // gives as passed is the rest, and never less than 0: skips and errors of fixtures are no
    // tests.
    void read_totals() {
        const json& summary = child_at(entry_, "individual_log_summary");
        const auto count = [&](const char* key) {
            return std::clamp<std::int64_t>(integer_at(summary, key), 0, kGreatestCount);
        };
        const std::int64_t total = count("total");
        const std::string verdict = string_at(summary, "raw_log_status_line");
        auto closing = unittest_closing_of(fmt::format("Ran {} tests in 0s", total), verdict);
        if (total == 0 && !closing) return;
        std::int64_t others = 0;
        for (const char* word : {"failures", "errors", "skipped"}) others += count(word);
        if (count("passed") != std::max<std::int64_t>(0, total - others))
            say(fmt::format("the totals of {} do not add up: {} tests, {} passed, {} did not",
                            record_.path, total, count("passed"), others));
        if (!closing) {
            closing = Closing{.text = {}, .ran = total, .counts = {}};
            for (const char* word : {"failures", "errors", "skipped"})
                closing->counts.emplace_back(word, count(word));
        }
        closing->text = fmt::format("Ran {}: {}", total, verdict);
        record_.closing = std::move(closing);
        add_unnamed(total);
    }

    void add_unnamed(std::int64_t total) {
        Unnamed unnamed(record_, room_);
        const auto add = [&](State state, std::int64_t count) {
            CaseRecord like;
            like.started = true;
            like.state = state;
            if (state == State::failed || state == State::errored)
                like.failure.emplace().counted = state;
            unnamed.add(record_.path, count, like);
        };
        const auto rows = [&](auto is_it) {
            return std::count_if(record_.cases.begin(), record_.cases.end(), is_it);
        };
        for (const auto& [word, count] : record_.closing->counts)
            if (const auto* const known = row_named<NamedState>(kStates, word))
                add(known->state,
                    count - rows([&](const CaseRecord& c) { return c.state == known->state; }));
        add(State::passed, total - rows([](const CaseRecord& c) { return c.started; }));
        unnamed.tell(0);
    }

    void say(std::string message) { record_.diagnostics.push_back({"log", 0, std::move(message)}); }

    const json& entry_;
    std::string_view module_;
    Unnamed::Room& room_;
    ModuleRecord record_;
    CaseIds ids_;
};

}  // namespace

std::vector<Diagnostic> read_torchdevice_json(const ForeignFile& file, const SeePart& see) {
    std::vector<Diagnostic> diagnostics;
    Diagnoser diagnose("log", diagnostics);
    const JsonDocument document = read_json(file.bytes);
    if (!document.whole)
        diagnose.add(document.end, "the file is no whole JSON document; read up to here");
    // The script writes a list; a module alone is taken for one.
    const json entries =
        document.value.is_object() ? json::array({document.value}) : document.value;
    Unnamed::Room room;
    for (const json& entry : entries) {
        const std::string module = entry.is_object() ? string_at(entry, "module") : std::string();
        if (module.empty() || entry.contains("error"))
            diagnose.add(0, "an entry that is no module");
        else
            see(Module(entry, module, room).read());
    }
    return diagnostics;
}

int torchdevice_json_likeness(std::string_view beginning, std::string_view /*end*/) {
    const std::string_view text = trimmed(beginning.substr(0, 1000));
    if (!text.starts_with('[') && !text.starts_with('{')) return 0;
    const auto has = [&](std::string_view key) {
        return beginning.find(key) != std::string_view::npos;
    };
    const bool summary = has("\"individual_log_summary\"") || has("\"status_from_summary\"");
    return summary && has("\"test_cases\"") ? kCertain : 0;
}

}  // namespace compat::parsers
