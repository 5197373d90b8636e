#include "parsers/pytest_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "parsers/closing.h"
#include "parsers/ending.h"
#include "parsers/pytest_failure.h"
#include "parsers/text.h"

namespace compat::parsers {

namespace {

struct OutcomeWord {
    std::string_view word;
    State state;
};
constexpr std::array<OutcomeWord, 6> kOutcomeWords{{
    {"PASSED", State::passed},
    {"FAILED", State::failed},
    {"ERROR", State::errored},
    {"SKIPPED", State::skipped},
    {"XFAIL", State::xfailed},
    {"XPASS", State::xpassed},
}};

struct Status {
    State state = State::passed;
    std::string reason;
};

// "PASSED", "SKIPPED (reason)".
std::optional<Status> status_of(std::string_view text) {
    for (const OutcomeWord& known : kOutcomeWords) {
        if (!text.starts_with(known.word)) continue;
        const std::string_view rest = text.substr(known.word.size());
        if (rest.empty()) return Status{known.state, {}};
        if (rest.size() > 3 && rest.starts_with(" (") && rest.ends_with(')'))
            return Status{known.state, valid_utf8(rest.substr(2, rest.size() - 3))};
    }
    return std::nullopt;
}

// Without "   [ 33%]" at the end.
std::string_view without_progress(std::string_view line) {
    line = trimmed(line);
    const size_t open = line.rfind('[');
    if (open == std::string_view::npos || !line.ends_with("%]")) return line;
    const std::string_view inside = trimmed(line.substr(open + 1, line.size() - open - 3));
    if (!number_of(inside) || open == 0 || line[open - 1] != ' ') return line;
    return trimmed(line.substr(0, open));
}

struct NodeLine {
    std::string_view node;
    std::optional<Status> status;
};

// "tests/test_a.py::A::test_x[p q] PASSED   [ 3%]", also without its outcome.
std::optional<NodeLine> node_line(std::string_view line) {
    const size_t names = line.find("::");
    if (names == std::string_view::npos || names == 0 || line[0] == ' ') return std::nullopt;
    if (line.substr(0, names).find(' ') != std::string_view::npos) return std::nullopt;
    const std::string_view text = without_progress(line);
    for (size_t blank = text.find(' ', names); blank != std::string_view::npos;
         blank = text.find(' ', blank + 1))
        if (auto status = status_of(text.substr(blank + 1)))
            return NodeLine{text.substr(0, blank), std::move(status)};
    // pytest writes the id and a blank before the test runs; the rest is the test's own output.
    size_t end = line.find(' ', names);
    const size_t bracket = line.find('[', names);
    if (bracket < end)
        if (const size_t close = line.rfind("] ");
            close != std::string_view::npos && close > bracket)
            end = close + 1;
    if (end == std::string_view::npos) return std::nullopt;
    return NodeLine{line.substr(0, end), std::nullopt};
}

// The text in "=== text ===" or "___ text ___"; empty where the line is no such rule.
std::string_view ruled(std::string_view line, char rule) {
    if (line.size() < 5 || line.front() != rule || line.back() != rule) return {};
    const size_t begin = line.find_first_not_of(rule);
    if (begin == std::string_view::npos || line[begin] != ' ') return {};
    const size_t end = line.find_last_not_of(rule);
    if (end <= begin || line[end] != ' ') return {};
    const std::string_view text = trimmed(line.substr(begin, end - begin));
    return text.find_first_not_of("_ ") == std::string_view::npos ? std::string_view{} : text;
}

// The words with which a section's heading says where a test broke.
struct HeadingWord {
    std::string_view prefix;
    Phase phase;
};
constexpr std::array<HeadingWord, 3> kHeadings{{
    {"ERROR at setup of ", Phase::setup},
    {"ERROR at teardown of ", Phase::teardown},
    {"ERROR collecting ", Phase::load},
}};

class Scanner {
  public:
    Scanner(std::string_view log, ModuleRecord& record)
        : log_(log), record_(record), diagnose_("log", record.diagnostics) {}

    void scan(size_t end) {
        size_t at = scan_results(end);
        scan_sections(at, end);
        for (size_t i = 0; i < statuses_.size(); ++i) resolve(i);
        const auto pseudo = std::count_if(record_.cases.begin(), record_.cases.end(),
                                          [](const CaseRecord& c) { return c.pseudo; });
        record_.collected =
            selected_ ? *selected_ + pseudo : static_cast<std::int64_t>(record_.cases.size());
    }

    [[nodiscard]] const std::vector<Progress>& progress() const { return progress_; }
    [[nodiscard]] bool ready() const { return selected_.has_value() || !record_.cases.empty(); }

  private:
    // Up to the first section; returns where it begins.
    size_t scan_results(size_t end) {
        for (Lines lines(log_.substr(0, end)); lines.next();) {
            const std::string plain = without_ansi(lines.line());
            if (const std::string_view section = ruled(plain, '=');
                section == "ERRORS" || section == "FAILURES")
                return lines.offset();
            if (!selected_ && scan_preamble(plain)) continue;
            if (auto node = node_line(plain)) {
                current_ = find_or_add(node->node);
                if (node->status) statuses_[*current_].push_back(std::move(*node->status));
            } else if (current_ && statuses_[*current_].empty()) {
                // The outcome of a test whose own output had broken its line.
                if (auto status = status_of(without_progress(plain)))
                    statuses_[*current_].push_back(std::move(*status));
            }
        }
        return end;
    }

    // What pytest says before the first test: versions, root, how many tests.
    bool scan_preamble(std::string_view line) {
        constexpr std::string_view kRoot = "rootdir: ";
        constexpr std::string_view kPython = " -- Python ";
        if (line.starts_with(kRoot)) {
            const std::string_view root = line.substr(kRoot.size());
            root_ = valid_utf8(trimmed(root.substr(0, root.find(", "))));
            return true;
        }
        if (line.starts_with("platform ") && line.find(kPython) != std::string_view::npos) {
            record_.python_version = value_after(line, kPython);
            record_.framework_version = value_after(line, "pytest-");
            return true;
        }
        return scan_collected(line);
    }

    static std::string value_after(std::string_view line, std::string_view mark) {
        const size_t at = line.find(mark);
        if (at == std::string_view::npos) return {};
        const std::string_view rest = line.substr(at + mark.size());
        return valid_utf8(rest.substr(0, rest.find_first_of(", ")));
    }

    // "collected 5 items / 2 deselected / 1 skipped / 3 selected".
    bool scan_collected(std::string_view line) {
        constexpr std::string_view kCollected = "collected ";
        const size_t at = line.find(kCollected);
        if (at == std::string_view::npos || (at != 0 && !line.starts_with("collecting")))
            return false;
        std::string_view rest = line.substr(at + kCollected.size());
        const auto count = number_of(rest.substr(0, rest.find(' ')));
        if (!count) return false;
        selected_ = *count;
        for (size_t bar = rest.find(" / "); bar != std::string_view::npos; bar = rest.find(" / ")) {
            rest.remove_prefix(bar + 3);
            const std::string_view part = rest.substr(0, rest.find(" / "));
            const auto value = number_of(part.substr(0, part.find(' ')));
            if (value && part.ends_with(" deselected")) selected_ = *selected_ - *value;
            if (value && *value > 0 && part.ends_with(" skipped"))
                statuses_[add_module()].push_back({State::skipped, {}});
        }
        return true;
    }

    size_t insert(CaseRecord c) {
        // The same tail may come from another file.
        if (const int n = ++repeats_[c.id]; n > 1) c.id += fmt::format("#{}", n);
        const size_t i = record_.cases.size();
        record_.cases.push_back(std::move(c));
        statuses_.emplace_back();
        progress_.push_back(Progress::started);
        return i;
    }

    size_t add_module() {
        if (module_) return *module_;
        CaseRecord c;
        c.id = record_.path + "::<module>";
        c.name = record_.path;
        c.pseudo = true;
        c.phase = Phase::load;
        module_ = insert(std::move(c));
        return *module_;
    }

    size_t find_or_add(std::string_view node) {
        if (const auto it = by_node_.find(std::string(node)); it != by_node_.end())
            return it->second;
        CaseRecord c;
        c.name = valid_utf8(node);
        const std::string tail = valid_utf8(node.substr(node.find("::") + 2));
        c.id = fmt::format("{}::{}", record_.path, tail);
        c.started = true;
        const size_t i = insert(std::move(c));
        by_node_.emplace(std::string(node), i);
        by_heading_.emplace(heading_of(tail), i);
        return i;
    }

    // "A::test_x[p::q]" as a section's heading has it: "A.test_x[p::q]".
    static std::string heading_of(std::string_view tail) {
        const size_t bracket = std::min(tail.find('['), tail.size());
        std::string out;
        for (size_t i = 0; i < tail.size(); ++i) {
            if (i + 1 < bracket && tail[i] == ':' && tail[i + 1] == ':') {
                out += '.';
                ++i;
            } else {
                out += tail[i];
            }
        }
        return out;
    }

    void scan_sections(size_t from, size_t end) {
        struct Open {
            std::string heading;
            size_t body = 0;
            size_t offset = 0;
        };
        std::optional<Open> open;
        const auto finish = [&](size_t stop) {
            if (open)
                add_section(open->heading, log_.substr(open->body, stop - open->body),
                            open->offset);
            open.reset();
        };
        bool of_failures = false;
        bool of_summary = false;
        for (Lines lines(log_.substr(0, end), from); lines.next();) {
            const std::string_view line = lines.line();
            if (of_summary) read_summary(line);
            if (line.find_first_of("=_\x1b") != 0) continue;
            const std::string plain = without_ansi(line);
            if (const std::string_view section = ruled(plain, '='); !section.empty()) {
                finish(lines.offset());
                of_failures = section == "ERRORS" || section == "FAILURES";
                of_summary = section == "short test summary info";
            } else if (const std::string_view heading = ruled(plain, '_');
                       of_failures && !heading.empty()) {
                finish(lines.offset());
                open = Open{std::string(heading), lines.after(), lines.offset()};
            }
        }
        finish(end);
    }

    void add_section(std::string_view heading, std::string_view body, size_t offset) {
        Phase phase = Phase::call;
        for (const HeadingWord& known : kHeadings)
            if (heading.starts_with(known.prefix)) {
                phase = known.phase;
                heading.remove_prefix(known.prefix.size());
                break;
            }
        const std::string plain = without_ansi(body);
        Failure failure = parse_pytest_failure(
            std::string_view(plain).substr(0, plain.find_last_not_of('\n') + 1), root_);
        failure.phase = phase;
        failure.counted = phase == Phase::call ? State::failed : State::errored;
        if (phase == Phase::load) {
            const size_t i = add_module();
            statuses_[i].push_back({State::errored, {}});
            keep(record_.cases[i], std::move(failure));
            return;
        }
        if (const auto it = by_heading_.find(std::string(heading)); it != by_heading_.end())
            return keep(record_.cases[it->second], std::move(failure));
        // A sub-test: its test's name, a blank, its label.
        for (size_t blank = heading.find(' '); blank != std::string_view::npos;
             blank = heading.find(' ', blank + 1)) {
            const auto it = by_heading_.find(std::string(heading.substr(0, blank)));
            if (it == by_heading_.end()) continue;
            record_.cases[it->second].subcases.push_back(
                {valid_utf8(heading.substr(blank + 1)), State::failed, {}, std::move(failure)});
            return;
        }
        diagnose_.add(offset, "a failure of no known test: " + valid_utf8(heading));
    }

    // "FAILED test_a.py::A::test_x - Failed: Unexpected success": the type of a failure that its
    // own section does not name.
    void read_summary(std::string_view line) {
        constexpr std::string_view kFailed = "FAILED ";
        constexpr std::string_view kDash = " - ";
        const std::string plain = without_ansi(line);
        const std::string_view text = plain;
        if (!text.starts_with(kFailed)) return;
        for (size_t dash = text.find(kDash); dash != std::string_view::npos;
             dash = text.find(kDash, dash + 1)) {
            const auto it =
                by_node_.find(std::string(text.substr(kFailed.size(), dash - kFailed.size())));
            if (it == by_node_.end()) continue;
            std::optional<Failure>& failure = record_.cases[it->second].failure;
            if (!failure || !failure->type.empty()) return;
            const std::string_view said = text.substr(dash + kDash.size());
            if (const size_t colon = said.find(": "); colon != std::string_view::npos)
                if (failure->message.starts_with(said.substr(colon + 2)))
                    failure->type = valid_utf8(said.substr(0, colon));
            return;
        }
    }

    static void keep(CaseRecord& c, Failure failure) {
        if (!c.failure) {
            c.failure = std::move(failure);
            return;
        }
        // ERRORS are printed before FAILURES: what failed in the call decides all the same.
        if (failure.phase == Phase::call && c.failure->phase != Phase::call)
            std::swap(*c.failure, failure);
        c.also.push_back(std::move(failure));
    }

    void resolve(size_t i) {
        CaseRecord& c = record_.cases[i];
        const std::vector<Status>& said = statuses_[i];
        if (said.empty()) return;
        progress_[i] = Progress::ended;
        c.state = said.front().state;
        c.reason = said.front().reason;
        const bool broke_later = std::any_of(said.begin() + 1, said.end(), [](const Status& s) {
            return s.state == State::errored;
        });
        if (c.pseudo) {
            if (broke_later) c.state = State::errored;
        } else if (c.state == State::errored) {
            c.phase = Phase::setup;
        } else if (broke_later && c.state != State::failed) {
            c.call_state = c.state;
            c.state = State::errored;
            c.phase = Phase::teardown;
        } else if (!c.subcases.empty() && c.state != State::failed) {
            c.call_state = c.state;
            c.state = State::failed;
        }
    }

    std::string_view log_;
    ModuleRecord& record_;
    Diagnoser diagnose_;
    std::string root_;
    std::optional<std::int64_t> selected_;
    std::vector<std::vector<Status>> statuses_;
    std::vector<Progress> progress_;
    std::unordered_map<std::string, size_t> by_node_;
    std::unordered_map<std::string, size_t> by_heading_;
    std::unordered_map<std::string, int> repeats_;
    std::optional<size_t> module_;
    std::optional<size_t> current_;
};

}  // namespace

ModuleRecord parse_pytest_text(std::string_view log, const ProcessEnd& end,
                               std::string_view module) {
    ModuleRecord record;
    record.path = valid_utf8(module);
    record.from_text = true;
    record.framework = "pytest";
    const auto closing = find_closing(log, "pytest");
    Scanner scanner(log, record);
    scanner.scan(closing ? closing->begin : log.size());
    if (closing) record.closing = closing->closing;
    settle(
        record, scanner.progress(),
        {.ready = scanner.ready(), .finished = closing.has_value(), .fixture = {}, .last_end = {}},
        end);
    return record;
}

}  // namespace compat::parsers
