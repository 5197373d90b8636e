#include "parsers/unittest_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_map>

#include "parsers/closing.h"
#include "parsers/ending.h"
#include "parsers/python_repr.h"
#include "parsers/text.h"
#include "parsers/traceback.h"
#include "parsers/unittest_header.h"

namespace compat::parsers {

namespace {

struct Status {
    State state = State::passed;
    std::string reason;
};

struct StatusWord {
    std::string_view word;
    State state;
};
constexpr std::array<StatusWord, 5> kStatusWords{{
    {"ok", State::passed},
    {"FAIL", State::failed},
    {"ERROR", State::errored},
    {"expected failure", State::xfailed},
    {"unexpected success", State::xpassed},
}};
constexpr std::string_view kSkipped = "skipped ";

bool is_quote(char c) { return c == '\'' || c == '"'; }

// A status that is all there is.
std::optional<Status> status_of(std::string_view text) {
    for (const StatusWord& known : kStatusWords)
        if (text == known.word) return Status{known.state, {}};
    if (text.starts_with(kSkipped) && text.size() > kSkipped.size() + 1 &&
        is_quote(text[kSkipped.size()]) && text.back() == text[kSkipped.size()])
        return Status{State::skipped, unquoted_python(text.substr(kSkipped.size()))};
    return std::nullopt;
}

// A status at the end of a line whose beginning a test has printed.
std::optional<Status> status_at_end(std::string_view line) {
    if (const size_t at = line.rfind(kSkipped); at != std::string_view::npos)
        if (auto status = status_of(line.substr(at))) return status;
    for (const StatusWord& known : kStatusWords)
        if (line.ends_with(known.word)) return Status{known.state, {}};
    return std::nullopt;
}

struct FixtureName {
    std::string_view method;
    std::string_view pseudo;
    Phase phase;
    bool of_class;
};
constexpr std::array<FixtureName, 4> kFixtures{{
    {"setUpClass", "<setUpClass>", Phase::class_setup, true},
    {"tearDownClass", "<tearDownClass>", Phase::class_teardown, true},
    {"setUpModule", "<setUpModule>", Phase::module_setup, false},
    {"tearDownModule", "<tearDownModule>", Phase::module_teardown, false},
}};

// "tests/test_a.py" as Python names it: "tests.test_a".
std::string dotted(std::string_view module) {
    std::string name(module.substr(0, module.ends_with(".py") ? module.size() - 3 : module.size()));
    std::replace(name.begin(), name.end(), '/', '.');
    return name;
}

// What the lines of one test said, before its sections are known.
struct Said {
    std::vector<Status> statuses;  // each on a line of its own, in order
    std::optional<Status> at_end;  // the last one that followed the test's own output
    std::vector<State> sections;   // of the test itself, sub-tests apart
};

class Scanner {
  public:
    Scanner(std::string_view log, ModuleRecord& record)
        : log_(log),
          record_(record),
          diagnose_("log", record.diagnostics),
          dotted_(dotted(record.path)) {}

    void scan(const std::optional<FoundClosing>& closing) {
        const size_t end = closing ? closing->begin : log_.size();
        const size_t sections = closing ? first_section(end) : end;
        scan_results(log_.substr(0, sections));
        if (closing) scan_sections(log_.substr(0, end), sections);
        for (size_t i = 0; i < said_.size(); ++i) resolve(i);
    }

    [[nodiscard]] const std::vector<Progress>& progress() const { return progress_; }

  private:
    static bool is_title(std::string_view line) {
        return line.starts_with("ERROR: ") || line.starts_with("FAIL: ") ||
               line.starts_with("UNEXPECTED SUCCESS: ");
    }

    // Sections stand between the results and the closing. Those that a test printed, running a
    // framework itself, were followed by that framework's own closing.
    size_t first_section(size_t end) const {
        size_t from = 0;
        if (const auto inner = find_printed_unittest_closing(log_.substr(0, end)))
            from = inner->end;
        for (Lines lines(log_.substr(0, end), from); lines.next();) {
            if (lines.line() != kDoubleRule) continue;
            Lines title(log_.substr(0, end), lines.after());
            if (title.next() && is_title(title.line())) return lines.offset();
        }
        return end;
    }

    void scan_results(std::string_view text) {
        std::optional<UnittestHeader> documented;  // a header whose docstring is on the next line
        for (Lines lines(text); lines.next();) {
            const std::string_view line = lines.line();
            offset_ = lines.offset();
            if (documented) {
                const UnittestHeader header = *documented;
                documented.reset();
                size_t dots = line.rfind(kEllipsis);
                if (dots != std::string_view::npos) {
                    if (!status_of(line.substr(dots + kEllipsis.size())))
                        dots = line.find(kEllipsis);
                    begin(header);
                    scan_output(line.substr(dots + kEllipsis.size()));
                    continue;
                }
            }
            if (line.starts_with("  ") && scan_subtest(line.substr(2))) continue;
            const auto header = header_of(line);
            if (header && header->rest.empty())
                documented = header;
            else
                scan_output(line);
        }
    }

    // A line, or what follows " ... " on it. Where a test ended without a word (its sub-tests
    // failed, up to Python 3.10) the next test's header follows on the same line.
    void scan_output(std::string_view line) {
        for (;;) {
            const auto header = header_of(line);
            if (!header || !header->rest.starts_with(kEllipsis)) break;
            begin(*header);
            line = header->rest.substr(kEllipsis.size());
        }
        if (auto status = status_of(trimmed(line))) {
            if (current_)
                said_[*current_].statuses.push_back(std::move(*status));
            else if (status->state == State::skipped)
                note_nameless_skip(status->reason);
        } else if (current_) {
            if (auto tail = status_at_end(line)) said_[*current_].at_end = std::move(tail);
        }
    }

    // "  test_x (mod.Class.test_x) [message] (i=1) ... FAIL", since Python 3.11.
    bool scan_subtest(std::string_view line) {
        const auto header = header_of(line);
        if (!header || !current_ || key_of(*header) != key_of_current_) return false;
        const size_t dots = header->rest.rfind(kEllipsis);
        if (dots == std::string_view::npos) return false;
        auto status = status_of(header->rest.substr(dots + kEllipsis.size()));
        if (!status) return false;
        SubCase& sub = subcase(*current_, trimmed(header->rest.substr(0, dots)));
        sub.state = status->state;
        sub.reason = std::move(status->reason);
        return true;
    }

    SubCase& subcase(size_t i, std::string_view label) {
        std::vector<SubCase>& all = record_.cases[i].subcases;
        const std::string name = valid_utf8(label);
        const auto it =
            std::find_if(all.begin(), all.end(), [&](const SubCase& s) { return s.label == name; });
        if (it != all.end() && !it->failure) return *it;
        all.push_back({});
        all.back().label = name;
        return all.back();
    }

    static std::string key_of(const UnittestHeader& header) {
        return fmt::format("{} {}", header.method, header.qualified);
    }

    // A test's line begins. Python 3.12 prints it once more for a second status of the same test
    // (its tear-down broke, too); a test that runs again had ended well or said nothing before.
    void begin(const UnittestHeader& header) {
        const std::string key = key_of(header);
        if (current_ && key == key_of_current_) {
            const std::vector<Status>& before = said_[*current_].statuses;
            const bool again = !before.empty() && (before.back().state == State::failed ||
                                                   before.back().state == State::errored ||
                                                   before.back().state == State::skipped);
            if (again || !record_.cases[*current_].subcases.empty()) return;
        }
        current_ = add(header);
        key_of_current_ = key;
    }

    size_t add(const UnittestHeader& header) {
        CaseRecord c;
        const std::string_view qualified = header.qualified;
        c.name = valid_utf8(qualified);
        const auto fixture =
            std::find_if(kFixtures.begin(), kFixtures.end(),
                         [&](const FixtureName& f) { return f.method == header.method; });
        if (qualified.starts_with("unittest.loader.")) {
            c.id = record_.path + "::<module>";
            c.pseudo = c.started = true;
            c.phase = Phase::load;
        } else if (fixture != kFixtures.end()) {
            c.id = fixture->of_class ? fmt::format("{}::{}::{}", record_.path, class_of(qualified),
                                                   fixture->pseudo)
                                     : fmt::format("{}::{}", record_.path, fixture->pseudo);
            c.pseudo = true;
            c.phase = fixture->phase;
        } else {
            std::string_view owner = qualified;
            const bool complete = owner.ends_with(header.method) &&
                                  owner.size() > header.method.size() &&
                                  owner[owner.size() - header.method.size() - 1] == '.';
            if (complete)
                owner.remove_suffix(header.method.size() + 1);
            else
                c.name = valid_utf8(fmt::format("{}.{}", qualified, header.method));
            c.id =
                valid_utf8(fmt::format("{}::{}::{}", record_.path, class_of(owner), header.method));
            c.started = true;
        }
        c.id = valid_utf8(c.id);
        if (const int n = ++repeats_[c.id]; n > 1) c.id += fmt::format("#{}", n);
        const size_t i = record_.cases.size();
        by_key_[key_of(header)] = i;
        record_.cases.push_back(std::move(c));
        said_.emplace_back();
        progress_.push_back(Progress::started);
        return i;
    }

    // "tests.test_a.Outer.Inner" is "Outer.Inner" in tests/test_a.py, under whatever part of the
    // path Python imported it. A class from elsewhere is known by its last word.
    std::string class_of(std::string_view qualified) const {
        for (std::string_view name = dotted_; !name.empty();) {
            if (qualified.size() > name.size() && qualified.starts_with(name) &&
                qualified[name.size()] == '.')
                return std::string(qualified.substr(name.size() + 1));
            const size_t dot = name.find('.');
            name = dot == std::string_view::npos ? std::string_view{} : name.substr(dot + 1);
        }
        constexpr std::string_view kMain = "__main__.";
        if (qualified.starts_with(kMain)) return std::string(qualified.substr(kMain.size()));
        return std::string(qualified.substr(qualified.rfind('.') + 1));
    }

    void scan_sections(std::string_view text, size_t from) {
        struct Open {
            std::string_view title;
            size_t body = 0;
            size_t offset = 0;
        };
        std::optional<Open> open;
        const auto finish = [&](size_t end) {
            if (open)
                add_section(open->title, text.substr(open->body, end - open->body), open->offset);
            open.reset();
        };
        for (Lines lines(text, from); lines.next();) {
            if (lines.line() != kDoubleRule) continue;
            Lines title(text, lines.after());
            if (!title.next() || !is_title(title.line())) continue;
            finish(lines.offset());
            std::string_view heading = title.line();
            if (heading.starts_with("UNEXPECTED")) continue;
            // A docstring's first line may stand between the title and its rule.
            size_t body = title.after();
            for (int i = 0; i < 2 && title.next(); ++i)
                if (title.line() == kRule) {
                    body = title.after();
                    break;
                }
            open = Open{heading, body, lines.offset()};
        }
        finish(text.size());
    }

    void add_section(std::string_view title, std::string_view body, size_t offset) {
        const State state = title.starts_with("FAIL") ? State::failed : State::errored;
        title.remove_prefix(title.find(": ") + 2);
        const auto header = header_of(title);
        if (!header) {
            diagnose_.add(offset, "a failure of no known test: " + valid_utf8(title));
            return;
        }
        const auto known = by_key_.find(key_of(*header));
        const size_t i = known != by_key_.end() ? known->second : add(*header);
        CaseRecord& c = record_.cases[i];
        Failure failure = parse_traceback(body.substr(0, body.find_last_not_of('\n') + 1));
        failure.counted = state;
        failure.phase = c.phase;
        if (const std::string_view label = trimmed(header->rest); !label.empty()) {
            SubCase& sub = subcase(i, label);
            sub.state = state;
            sub.failure = std::move(failure);
            return;
        }
        said_[i].sections.push_back(state);
        if (!c.failure)
            c.failure = std::move(failure);
        else
            c.also.push_back(std::move(failure));
    }

    void resolve(size_t i) {
        CaseRecord& c = record_.cases[i];
        Said& said = said_[i];
        progress_[i] = Progress::ended;
        if (!said.sections.empty()) return resolve_broken(c, said);
        const auto worst_sub = [&](State state) {
            return std::any_of(c.subcases.begin(), c.subcases.end(),
                               [&](const SubCase& s) { return s.state == state; });
        };
        if (worst_sub(State::failed) || worst_sub(State::errored)) {
            c.state = worst_sub(State::failed) ? State::failed : State::errored;
            c.call_state = State::passed;
            return;
        }
        if (!said.statuses.empty()) {
            c.state = said.statuses.front().state;
            c.reason = said.statuses.front().reason;
            for (size_t n = 1; n < said.statuses.size(); ++n)
                if (said.statuses[n].state == State::skipped)
                    note_nameless_skip(said.statuses[n].reason);
        } else if (said.at_end) {
            c.state = said.at_end->state;
            c.reason = said.at_end->reason;
        } else if (worst_sub(State::skipped)) {
            c.state = State::skipped;
            c.call_state = State::passed;
            c.reason = c.subcases.front().reason;
        } else {
            progress_[i] = Progress::started;
        }
    }

    // Sections are printed errors first; which came first in the test, its lines tell.
    void resolve_broken(CaseRecord& c, const Said& said) {
        const auto broke = [](const Status& s) {
            return s.state == State::failed || s.state == State::errored;
        };
        const auto first = std::find_if(said.statuses.begin(), said.statuses.end(), broke);
        const auto has = [&](State s) {
            return std::find(said.sections.begin(), said.sections.end(), s) != said.sections.end();
        };
        c.state = has(State::failed) ? State::failed : State::errored;
        if (first != said.statuses.end() && has(first->state)) c.state = first->state;
        if (!said.statuses.empty() && said.statuses.front().state == State::skipped && !c.pseudo) {
            c.call_state = State::skipped;
            c.reason = said.statuses.front().reason;
        }
        if (c.failure->counted == c.state) return;
        const auto same = std::find_if(c.also.begin(), c.also.end(),
                                       [&](const Failure& f) { return f.counted == c.state; });
        if (same != c.also.end()) std::swap(*c.failure, *same);
    }

    void note_nameless_skip(const std::string& reason) {
        diagnose_.add(
            offset_,
            "a class or module fixture skipped tests that the text does not name: " + reason);
    }

    std::string_view log_;
    ModuleRecord& record_;
    Diagnoser diagnose_;
    std::string dotted_;
    std::vector<Said> said_;
    std::vector<Progress> progress_;
    std::unordered_map<std::string, size_t> by_key_;
    std::unordered_map<std::string, int> repeats_;
    std::optional<size_t> current_;
    std::string key_of_current_;
    size_t offset_ = 0;
};

}  // namespace

ModuleRecord parse_unittest_text(std::string_view log, const ProcessEnd& end,
                                 std::string_view module) {
    ModuleRecord record;
    record.path = valid_utf8(module);
    record.from_text = true;
    record.framework = "unittest";
    const auto closing = find_closing(log, "unittest");
    Scanner scanner(log, record);
    scanner.scan(closing);
    if (closing) record.closing = closing->closing;
    record.collected = static_cast<std::int64_t>(record.cases.size());
    const bool begun = closing || !record.cases.empty();
    settle(record, scanner.progress(),
           {.ready = begun, .finished = closing.has_value(), .fixture = {}, .last_end = {}}, end);
    return record;
}

}  // namespace compat::parsers
