#include "parsers/import/torchdevice/torchdevice_json.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

#include "parsers/closing.h"
#include "parsers/ending.h"
#include "parsers/import/case_ids.h"
#include "parsers/import/json_document.h"
#include "parsers/import/torchdevice/torchdevice.h"
#include "parsers/jsonl.h"
#include "parsers/text.h"
#include "parsers/unnamed.h"
#include "runner/base/framework.h"

namespace compat::parsers {

namespace {

using nlohmann::json;

// A list of lines as one text.
std::string text_of(const json& lines) {
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
    if (!it->is_string()) return std::nullopt;
    const std::string_view text = it->get_ref<const std::string&>();
    const bool negative = text.starts_with('-');
    const auto value = number_of(text.substr(negative ? 1 : 0));
    return value && negative ? std::optional(-*value) : value;
}

class Module {
  public:
    Module(const json& entry, std::string_view module, Unnamed::Room& room)
        : entry_(entry), module_(module), room_(room) {
        record_.path = torchdevice_path(module);
        record_.framework = name_of(Framework::unittest);
        record_.from_text = true;
    }

    ModuleRecord read() {
        for (const json& test : child_at(entry_, "test_cases")) read_test(test);
        read_totals();
        const auto code = return_code_of(entry_);
        const double duration = torchdevice_seconds(string_at(entry_, "duration"));
        if (!record_.closing && record_.cases.empty() && code) {
            set_torchdevice_outcome(record_, *code, duration);
            return std::move(record_);
        }
        ProcessEnd end{ProcessEnd::Kind::stopped, 0, "the totals of its log are not told"};
        // That tests broke explains an exit code; without its totals nothing says how it closed.
        const bool told = std::any_of(record_.cases.begin(), record_.cases.end(),
                                      [](const CaseRecord& c) { return !c.pseudo; });
        if (code && (record_.closing || !told || *code < 0)) end = torchdevice_end(*code);
        record_.collected = static_cast<std::int64_t>(record_.cases.size());
        const std::vector<Progress> progress(record_.cases.size(), Progress::ended);
        settle(
            record_, progress,
            {.ready = true, .finished = record_.closing.has_value(), .fixture = {}, .last_end = {}},
            end);
        return std::move(record_);
    }

  private:
    void read_test(const json& test) {
        const std::string method = string_at(test, "name");
        const std::string word = string_at(test, "status");
        const auto state = test.is_object() ? torchdevice_state(word) : std::nullopt;
        if (method.empty() || !state) {
            return say(fmt::format("a test of {} without a name or a known status: \"{}\" \"{}\"",
                                   record_.path, method, word));
        }
        const json& details = child_at(test, "error_details");
        CaseRecord row = torchdevice_case(
            record_.path, classes_of(string_at(test, "class_path"), method), method, *state,
            text_of(child_at(details, "traceback")), string_at(details, "key_error_line"));
        if (row.state == State::crashed) row.reason = word;
        row.id = ids_.unique(row.id);
        record_.cases.push_back(std::move(row));
    }

    // "tests.a.test_b.Outer.Inner", since Python 3.11 with the test's name after it. Of a class
    // from another module its own name.
    std::string classes_of(std::string_view dotted, std::string_view method) const {
        if (dotted.ends_with(method) && dotted.size() > method.size() &&
            dotted[dotted.size() - method.size() - 1] == '.')
            dotted.remove_suffix(method.size() + 1);
        if (dotted == module_) return {};
        if (dotted.starts_with(module_) && dotted[module_.size()] == '.')
            return std::string(dotted.substr(module_.size() + 1));
        return place_of_class(dotted).classes;
    }

    // What the log closed with, and rows for what it counts and nothing names.
    void read_totals() {
        const json& summary = child_at(entry_, "individual_log_summary");
        const std::int64_t total = integer_at(summary, "total");
        const std::string verdict = string_at(summary, "raw_log_status_line");
        auto closing = unittest_closing_of(fmt::format("Ran {} tests in 0s", total), verdict);
        if (total < 0 || (total == 0 && !closing)) return;
        if (!closing)
            closing = Closing{.text = {},
                              .ran = total,
                              .counts = {{"failures", integer_at(summary, "failures")},
                                         {"errors", integer_at(summary, "errors")},
                                         {"skipped", integer_at(summary, "skipped")}}};
        closing->text = fmt::format("Ran {}: {}", total, verdict);
        record_.closing = std::move(closing);
        check_sum(summary, total);
        add_unnamed(total);
    }

    // What passed is the rest, and never less than 0: skips and errors of fixtures are no tests.
    void check_sum(const json& summary, std::int64_t total) {
        constexpr std::array<const char*, 3> kParts{"failures", "errors", "skipped"};
        constexpr std::int64_t kPlausible = 1'000'000'000;
        const std::int64_t passed = integer_at(summary, "passed");
        std::int64_t others = 0;
        bool plausible = passed >= 0 && passed <= kPlausible;
        for (const char* part : kParts) {
            const std::int64_t count = integer_at(summary, part);
            plausible = plausible && count >= 0 && count <= kPlausible;
            others += plausible ? count : 0;
        }
        if (!plausible || passed != std::max<std::int64_t>(0, total - others))
            say(fmt::format("the totals of {} do not add up: {} tests, {} passed, {} did not",
                            record_.path, total, passed, others));
    }

    void add_unnamed(std::int64_t total) {
        struct Word {
            std::string_view word;
            State state;
        };
        constexpr std::array<Word, 5> kWords{{{"failures", State::failed},
                                              {"errors", State::errored},
                                              {"skipped", State::skipped},
                                              {"expected failures", State::xfailed},
                                              {"unexpected successes", State::xpassed}}};
        Unnamed unnamed(record_, room_);
        CaseRecord like;
        like.started = true;
        for (const auto& [word, count] : record_.closing->counts)
            for (const Word& known : kWords) {
                if (known.word != word) continue;
                like.state = known.state;
                like.failure.reset();
                if (known.state == State::failed || known.state == State::errored)
                    like.failure.emplace().counted = known.state;
                unnamed.add(record_.path, count - named(known.state), like);
            }
        like.state = State::passed;
        like.failure.reset();
        const auto started = std::count_if(record_.cases.begin(), record_.cases.end(),
                                           [](const CaseRecord& c) { return c.started; });
        unnamed.add(record_.path, total - started, like);
        unnamed.tell(0);
    }

    [[nodiscard]] std::int64_t named(State state) const {
        return std::count_if(record_.cases.begin(), record_.cases.end(),
                             [&](const CaseRecord& c) { return c.state == state; });
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
    if (!entries.is_array()) {
        diagnose.add(0, "the file is no list of modules");
        return diagnostics;
    }
    Unnamed::Room room;
    for (const json& entry : entries) {
        const std::string module = entry.is_object() ? string_at(entry, "module") : std::string();
        if (module.empty() || entry.contains("error")) {
            diagnose.add(0, "an entry that is no module: " +
                                (entry.is_object() ? string_at(entry, "error") : ""));
            continue;
        }
        see(Module(entry, module, room).read());
    }
    return diagnostics;
}

int torchdevice_json_likeness(std::string_view beginning, std::string_view /*end*/) {
    const std::string_view text = trimmed(beginning.substr(0, 1000));
    if (!text.starts_with('[') && !text.starts_with('{')) return 0;
    constexpr std::array<std::string_view, 5> kSigns{"\"individual_log_summary\"",
                                                     "\"status_from_summary\"", "\"test_cases\"",
                                                     "\"test_script_path\"", "\"return_code\""};
    return std::count_if(kSigns.begin(), kSigns.end(),
                         [&](const auto& sign) {
                             return beginning.find(sign) != std::string_view::npos;
                         }) >= 2
               ? kCertain
               : 0;
}

}  // namespace compat::parsers
