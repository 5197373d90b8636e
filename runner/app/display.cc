#include "runner/app/display.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>

#include "runner/app/output.h"

namespace compat::app {

using parsers::ModuleOutcome;
using parsers::State;

namespace {

constexpr size_t kFailuresShown = 20;  // of one module; the report has them all
constexpr const char* kRed = "31";
constexpr const char* kGreen = "32";
constexpr const char* kYellow = "33";

bool is_bad(State state) {
    return state == State::failed || state == State::errored || state == State::crashed ||
           state == State::timed_out;
}

size_t terminal_width() {
    winsize size{};
    if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
    return 80;
}

// At most `columns` characters, UTF-8 kept whole.
std::string cut(const std::string& text, size_t columns) {
    size_t seen = 0;
    for (size_t i = 0; i < text.size(); ++i) {
        const bool starts = (static_cast<unsigned char>(text[i]) & 0xc0) != 0x80;
        if (starts && seen++ == columns) return text.substr(0, i);
    }
    return text;
}

}  // namespace

std::string printable(std::string_view text) {
    std::string out;
    for (size_t i = 0; i < text.size(); ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        const auto next = i + 1 < text.size() ? static_cast<unsigned char>(text[i + 1]) : 0u;
        if (byte == 0xc2 && next >= 0x80 && next < 0xa0) {
            // U+0080 to U+009F: control characters, too; some terminals obey them.
            out += fmt::format("\\u{:04x}", next);
            ++i;
        } else if (byte < 0x20 || byte == 0x7f) {
            out += byte == '\n' || byte == '\t' ? std::string(" ") : fmt::format("\\x{:02x}", byte);
        } else {
            out += text[i];
        }
    }
    return out;
}

std::string counted(long n, std::string_view noun) {
    return fmt::format("{} {}{}", n, noun, n == 1 ? "" : "s");
}

std::string count_words(const std::array<long, parsers::kStateNames.size()>& counts) {
    std::string words;
    for (size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0) continue;
        std::string state(parsers::kStateNames[i]);
        std::replace(state.begin(), state.end(), '_', ' ');
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", counts[i], state);
    }
    return words.empty() ? "no tests" : words;
}

Display::Display(DisplayOptions options, size_t modules) : options_(options), modules_(modules) {}

std::string Display::painted(const std::vector<Piece>& pieces) const {
    std::string text;
    for (const auto& [words, code] : pieces)
        text += code && options_.color ? fmt::format("\033[{}m{}\033[0m", code, words) : words;
    return text;
}

void Display::clear() {
    if (drawn_) put(stdout, "\r\033[K");
    drawn_ = false;
}

void Display::say(const std::vector<Piece>& pieces) {
    if (options_.run_log) {
        std::string plain;
        for (const auto& [words, code] : pieces) plain += words;
        print(options_.run_log, "{} {}\n", iso8601(clock_.wall()), plain);
    }
    if (options_.verbosity < 0) return;
    clear();
    print("{}\n", painted(pieces));
    draw();
}

void Display::say(const std::string& line) { say({{line, nullptr}}); }

void Display::draw() {
    if (!options_.bar || options_.verbosity < 0) return;
    clear();
    std::string line =
        fmt::format("[{}/{}] {}", done_, modules_, done_ == 0 ? "starting" : count_words(counts_));
    for (const auto& [job, running] : running_) {
        const auto age = clock_.steady() - running.since;
        line += fmt::format(" | {}{} {}/{} {}", running.name,
                            running.attempt > 1 ? fmt::format(" #{}", running.attempt) : "",
                            running.progress.ended, running.progress.collected,
                            human(std::chrono::duration_cast<std::chrono::duration<double>>(age)));
    }
    const size_t width = terminal_width();
    put(stdout, cut(printable(line), width > 1 ? width - 1 : 1).c_str());
    drawn_ = true;
}

void Display::on_event(const exec::RunEvent& event) {
    if (const auto* started = std::get_if<exec::JobStarted>(&event)) {
        running_[started->job] = {started->name, started->attempt, clock_.steady(), {}};
        draw();
    } else if (const auto* progress = std::get_if<exec::JobProgress>(&event)) {
        running_[progress->job].progress = progress->progress;
        draw();
    } else if (std::holds_alternative<exec::Tick>(event)) {
        draw();
    } else if (const auto* finished = std::get_if<exec::RunFinished>(&event)) {
        clear();
        options_.bar = false;
        if (finished->stopped)
            say(fmt::format("{}; not started: {}", finished->reason,
                            counted(static_cast<long>(finished->not_started.size()), "module")));
    }
}

void Display::attempt_done(const exec::JobFinished& finished, const Step& step) {
    running_.erase(finished.job);
    if (step.done) {
        module_done(*step.done);
    } else if (options_.verbosity > 0) {
        say(fmt::format("    attempt {} follows: {}, {}", step.next->number,
                        name_of(step.next->kind), exec::describe(finished.outcome)));
    }
}

void Display::count(const ModuleDone& done) {
    ++done_;
    for (const auto& test : done.verdicts.record.cases) ++counts_[static_cast<size_t>(test.state)];
}

void Display::module_done(const ModuleDone& done) {
    count(done);
    const parsers::ModuleRecord& record = done.verdicts.record;
    Counts counts{};
    for (const auto& test : record.cases) ++counts[static_cast<size_t>(test.state)];
    const bool bad = std::any_of(record.cases.begin(), record.cases.end(),
                                 [](const auto& test) { return is_bad(test.state); });
    const bool none = record.outcome == ModuleOutcome::no_tests;
    const bool good = record.outcome == ModuleOutcome::completed && !bad;
    const size_t digits = std::to_string(modules_).size();
    std::string rest =
        fmt::format(" {}: {} ({}{})", printable(record.path), count_words(counts),
                    human(std::chrono::duration<double>(done.duration_s)),
                    done.attempts > 1 ? fmt::format(", {} attempts", done.attempts) : "");
    if (!good && !none && record.outcome != ModuleOutcome::completed)
        rest += fmt::format("; {}: {}", parsers::name_of(record.outcome), printable(record.reason));
    say({{fmt::format("[{:>{}}/{}] ", done_, digits, modules_), nullptr},
         none   ? Piece{"none", nullptr}
         : good ? Piece{"ok  ", kGreen}
                : Piece{"FAIL", kRed},
         {rest, nullptr}});

    size_t shown = 0, bad_count = 0;
    for (const auto& test : record.cases) {
        const bool skipped = test.state == State::skipped && options_.verbosity > 0;
        if (!is_bad(test.state) && !skipped) continue;
        if (is_bad(test.state) && ++bad_count > kFailuresShown && options_.verbosity < 1) continue;
        if (is_bad(test.state)) ++shown;
        const std::string why = test.failure ? test.failure->key_line() : test.reason;
        say({{"    ", nullptr},
             {std::string(parsers::name_of(test.state)), skipped ? kYellow : kRed},
             {fmt::format(" {}{}{}", printable(test.id), why.empty() ? "" : ": ", printable(why)),
              nullptr}});
    }
    if (bad_count > shown) say(fmt::format("    and {} more", bad_count - shown));
    for (size_t i = 0; i < record.cases.size(); ++i)
        if (done.verdicts.of[i].flaky || done.verdicts.of[i].fork_sensitive)
            say({{"    ", nullptr},
                 {done.verdicts.of[i].flaky ? "flaky" : "fork-sensitive", kYellow},
                 {" " + printable(record.cases[i].id), nullptr}});
    for (const auto& leaked : done.leaked) {
        std::string command;
        for (const auto& word : leaked.argv) command += word + " ";
        say(fmt::format("    left process {} running, {}: {}", leaked.pid,
                        leaked.killed ? "killed" : "it could not be killed", printable(command)));
    }
}

}  // namespace compat::app
