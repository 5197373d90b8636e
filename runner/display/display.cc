#include "runner/display/display.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "parsers/text.h"
#include "runner/base/text.h"
#include "runner/display/columns.h"
#include "runner/display/output.h"
#include "runner/display/terminal.h"

namespace compat::display {

using parsers::ModuleOutcome;
using parsers::State;

namespace {

constexpr size_t kFailuresShown = 20;  // of one module; the report has them all
constexpr size_t kLeakedShown = 5;     // processes of one module
constexpr size_t kTracebackLines = 12;
constexpr Milliseconds kRedraw{100};
constexpr size_t kBarLines = 8;  // of which the last says how it stands

}  // namespace

std::string format_counts(const std::array<long, parsers::kStateNames.size()>& counts,
                          std::string_view none) {
    std::string words;
    for (size_t i = 0; i < counts.size(); ++i) {
        if (counts[i] == 0) continue;
        std::string state(parsers::kStateNames[i]);
        std::replace(state.begin(), state.end(), '_', ' ');
        words += fmt::format("{}{} {}", words.empty() ? "" : ", ", counts[i], state);
    }
    return words.empty() ? std::string(none) : words;
}

namespace {

std::string format_age(double seconds) {
    return format_duration(std::chrono::duration<double>(seconds));
}

std::string describe_attempt(const RunningJob& job) {
    return job.attempt > 1 ? fmt::format(" (attempt {})", job.attempt) : "";
}

// The test that runs, without the module that the line names already.
std::string current_test(const RunningJob& job) {
    const std::string& id = job.progress.current;
    const std::string prefix = job.module + "::";
    return id.starts_with(prefix) ? id.substr(prefix.size()) : id;
}

}  // namespace

Display::Display(DisplayOptions options, const DisplayedRun& run)
    : options_(options),
      run_(run.id),
      retries_(run.retries),
      seeds_(run.seeds),
      modules_(run.modules.size()),
      left_(run.modules, run.seconds, run.parallel) {}

std::string Display::painted(const std::vector<Piece>& pieces) const {
    std::string text;
    for (const auto& [words, code] : pieces)
        text += code && options_.color ? fmt::format("\033[{}m{}\033[0m", code, words) : words;
    return text;
}

// Lines.

namespace {

std::string plain(const std::vector<Display::Piece>& pieces) {
    std::string text;
    for (const auto& [words, code] : pieces) text += words;
    return text;
}

std::vector<Display::Piece> cut(const std::vector<Display::Piece>& pieces, size_t columns) {
    std::vector<Display::Piece> kept;
    for (const auto& [words, code] : pieces) {
        if (columns == 0) break;
        kept.push_back({cut_to(words, columns), code});
        columns -= std::min(columns, columns_of(kept.back().words));
    }
    return kept;
}

}  // namespace

void Display::write_line(const std::string& plain, const std::string& shown) {
    if (options_.run_log) print(options_.run_log, "{} {}\n", iso8601(clock_.wall()), plain);
    if (options_.verbosity < 0) return;
    clear();
    print("{}\n", shown);
}

void Display::say(const std::vector<Piece>& pieces) { write_line(plain(pieces), painted(pieces)); }

void Display::say(const std::string& line) { say({{line, nullptr}}); }

void Display::say_cut(const std::vector<Piece>& pieces) {
    const bool bar = options_.progress == Progress::bar;
    const size_t columns = bar ? std::max<size_t>(2, terminal_size().columns) - 1 : kLineColumns;
    write_line(plain(cut(pieces, kLineColumns)), painted(cut(pieces, columns)));
}

void Display::write_json(const std::string& line) {
    if (options_.progress == Progress::json && !line.empty()) put(stdout, line + "\n");
}

// The bar.

void Display::clear() {
    if (options_.progress == Progress::bar) put(stdout, bar_.clear(terminal_size()));
}

void Display::draw() {
    if (options_.progress != Progress::bar || options_.verbosity < 0 || !has_terminal()) return;
    const TerminalSize size = terminal_size();
    put(stdout, bar_.draw(bar_lines(size), size));
    drawn_ = clock_.steady();
}

// Events come faster than anybody reads.
void Display::draw_if_due() {
    if (!bar_.is_drawn() || clock_.steady() - drawn_ >= kRedraw) draw();
}

std::vector<const RunningJob*> Display::running_longest_first() const {
    std::vector<const RunningJob*> jobs;
    for (const auto& [index, job] : running_) jobs.push_back(&job);
    std::stable_sort(jobs.begin(), jobs.end(),
                     [](const auto* a, const auto* b) { return a->since < b->since; });
    return jobs;
}

std::vector<std::string> Display::bar_lines(TerminalSize size) const {
    // Half of a low terminal is for what comes above.
    const size_t room = std::clamp<size_t>(size.rows / 2, 1, kBarLines) - 1;
    std::vector<std::string> lines;
    const auto jobs = running_longest_first();
    const bool all = jobs.size() <= room;
    const size_t shown = all ? jobs.size() : room == 0 ? 0 : room - 1;
    for (size_t i = 0; i < shown; ++i) {
        const RunningJob& job = *jobs[i];
        std::string line = fmt::format("  {}{}  {}  {}/{}", job.module, describe_attempt(job),
                                       format_age(seconds_between(job.since, clock_.steady())),
                                       job.progress.ended, job.progress.collected);
        if (!job.progress.current.empty()) line += "  " + current_test(job);
        lines.push_back(printable(line));
    }
    if (!all && room > 0) lines.push_back(fmt::format("  and {} more", jobs.size() - shown));
    lines.push_back(summary_line());
    return lines;
}

std::string Display::summary_line() const {
    std::string line = fmt::format("[{}/{}] {}", done_, modules_,
                                   done_ == 0 ? "no module done yet" : format_counts(counts_));
    if (!running_.empty())
        line += fmt::format(" | {} running", counted(static_cast<long>(running_.size()), "module"));
    if (const std::string left = format_time_left(left_.at(clock_.steady())); !left.empty())
        line += " | " + left;
    return line;
}

void Display::close() {
    clear();
    keys_.release();
    if (options_.progress == Progress::bar) options_.progress = Progress::plain;
}

// Keys and status.

void Display::read_keys() {
    if (options_.progress != Progress::bar) return;
    keys_.attend();
    for (char key = keys_.next(); key != 0; key = keys_.next())
        if (key == 't') show_status();
}

void Display::show_status() {
    const SteadyTime at = clock_.steady();
    clear();
    print("{}\n", summary_line());
    for (const RunningJob* job : running_longest_first()) {
        std::string line =
            fmt::format("    {}{}: {}, pid {}, {}/{} tests", job->module, describe_attempt(*job),
                        format_age(seconds_between(job->since, at)), job->pid, job->progress.ended,
                        job->progress.collected);
        if (!job->progress.current.empty())
            line += fmt::format(", in {} for {}", current_test(*job),
                                format_age(seconds_between(job->progress.since, at)));
        print("{}\n", printable(line));
    }
}

// Events.

void Display::on_event(const exec::RunEvent& event) {
    if (const auto* started = std::get_if<exec::JobStarted>(&event)) {
        const SteadyTime at = clock_.steady();
        running_[started->job] = {
            started->name, started->attempt, started->pid, started->forked, at, {}};
        left_.started(started->name, at);
    } else if (const auto* progress = std::get_if<exec::JobProgress>(&event)) {
        running_[progress->job].progress = progress->progress;
    }
    const std::string line = options_.progress == Progress::json
                                 ? progress_line(event, run_, running_, now())
                                 : std::string{};
    // Modules that were cut short come before the run's last event.
    if (std::holds_alternative<exec::RunFinished>(event))
        last_line_ = line;
    else
        write_json(line);

    if (const auto* progress = std::get_if<exec::JobProgress>(&event)) show_as_it_comes(*progress);
    if (const auto* note = std::get_if<exec::Note>(&event)) say("note: " + printable(note->text));
    if (std::holds_alternative<exec::StatusRequested>(event)) show_status();
    if (std::holds_alternative<exec::Tick>(event) ||
        std::holds_alternative<exec::RunStarted>(event))
        read_keys();
    if (std::holds_alternative<exec::Paused>(event)) {
        clear();
        keys_.release();
        return;
    }
    if (const auto* finished = std::get_if<exec::RunFinished>(&event)) {
        close();
        if (finished->stopped)
            say(fmt::format("{}; not started: {}", finished->reason,
                            counted(static_cast<long>(finished->not_started.size()), "module")));
    }
    // A start changes the bar, and the next tick may be half a second away.
    if (std::holds_alternative<exec::Tick>(event) ||
        std::holds_alternative<exec::JobStarted>(event))
        draw();
    else
        draw_if_due();
}

void Display::job_done(const exec::JobFinished& finished) {
    if (const auto job = running_.extract(finished.job)) left_.stopped(job.mapped().module);
}

void Display::attempt_follows(const exec::JobFinished& finished, int number, AttemptKind kind) {
    job_done(finished);
    if (options_.verbosity > 0)
        say(fmt::format("    starting attempt {} ({}): {}", number, name_of(kind),
                        describe(finished.end)));
    draw_if_due();
}

void Display::module_waits(const exec::JobFinished& finished) {
    job_done(finished);
    draw_if_due();
}

void Display::module_done(const exec::JobFinished& finished, const ModuleDone& done) {
    job_done(finished);
    module_done(done);
    draw_if_due();
}

void Display::finish() { write_json(last_line_); }

void Display::count(const ModuleDone& done) {
    ++done_;
    left_.done(done.path, done.duration_s);
    for (const auto& test : done.verdicts.record.cases) ++counts_[static_cast<size_t>(test.state)];
}

void Display::module_done(const ModuleDone& done) {
    count(done);
    write_json(module_line(done, now()));
    const parsers::ModuleRecord& record = done.verdicts.record;
    Counts counts{};
    for (const auto& test : record.cases) ++counts[static_cast<size_t>(test.state)];
    const bool bad = std::any_of(record.cases.begin(), record.cases.end(), [](const auto& test) {
        return analysis::needs_attention(test.state);
    });
    const bool none = record.outcome == ModuleOutcome::no_tests;
    const bool good = record.outcome == ModuleOutcome::completed && !bad;
    const size_t digits = std::to_string(modules_).size();
    std::string rest =
        fmt::format(" {}: {} ({}{})", printable(record.path),
                    format_counts(counts, good || none ? "no tests" : "no result"),
                    format_duration(std::chrono::duration<double>(done.duration_s)),
                    done.attempts > 1 ? fmt::format(", {} attempts", done.attempts) : "");
    const bool not_loaded = record.outcome == ModuleOutcome::load_error;
    if (!good && !none && record.outcome != ModuleOutcome::completed) {
        const std::string why = printable(not_loaded ? load_cause(record) : record.reason);
        const std::string outcome(parsers::name_of(record.outcome));
        rest += "; " + (why.starts_with(outcome) ? why : outcome + ": " + why);
    }
    rest = cut_to(rest, kLineColumns);
    say({{fmt::format("[{:>{}}/{}] ", done_, digits, modules_), nullptr},
         none   ? Piece{"none", nullptr}
         : good ? Piece{"ok  ", kGreen}
                : Piece{"FAIL", kRed},
         {rest, nullptr}});
    show_tests(done);
}

// Why a module could not be loaded; a cause that was printed before names that module.
std::string Display::load_cause(const parsers::ModuleRecord& record) {
    const auto failed = std::find_if(record.cases.begin(), record.cases.end(),
                                     [](const auto& test) { return test.failure.has_value(); });
    if (failed == record.cases.end()) return record.reason;
    const std::string cause = failed->failure->key_line();
    const auto [first, is_new] = not_loaded_.try_emplace(cause, record.path);
    return is_new || first->second == record.path ? cause : "same cause as " + first->second;
}

// Only the end, without the error itself: the module's line has it.
void Display::show_traceback(const parsers::Failure& failure) {
    std::vector<std::string_view> lines;
    for (parsers::Lines all(failure.traceback); all.next();)
        if (!parsers::trimmed(all.line()).empty()) lines.push_back(all.line());
    if (!lines.empty() && lines.back().ends_with(failure.key_line())) lines.pop_back();
    const size_t first = lines.size() - std::min(lines.size(), kTracebackLines);
    if (first > 0) say(fmt::format("        [{} more in the log]", counted(first, "line")));
    for (size_t i = first; i < lines.size(); ++i)
        say_cut({{"        " + printable(lines[i]), nullptr}});
}

// A module may run for long, so broken tests are printed at once. Failures that are still to be
// confirmed or retried are printed as such, without a reason.
void Display::show_as_it_comes(const exec::JobProgress& progress) {
    const RunningJob& job = running_.at(progress.job);
    const bool last = !job.forked && !retries_ && seeds_ == 0;
    for (const auto& end : progress.ends) {
        const auto state = parsers::state_of(end.state);
        if (!state || !analysis::needs_attention(*state)) continue;
        write_json(broken_line(end, progress.job, last, running_, now()));
        if (end.id == job.module + "::<module>") continue;  // the module's line follows at once
        PrintedResults& printed = printed_[job.module];
        const size_t count = last ? printed.states.size() : printed.to_repeat.size();
        if (count >= kFailuresShown && options_.verbosity < 1) continue;
        if (last ? !printed.states.emplace(end.id, *state).second
                 : !printed.to_repeat.insert(end.id).second)
            continue;
        const std::string why = key_line_of(end);
        std::string rest = " " + printable(end.id);
        if (!last) {
            rest += seeds_ > 0   ? fmt::format(" with one of {} random streams", seeds_)
                    : job.forked ? " in a forked process, to be confirmed"
                                 : ", to be retried";
        } else if (!why.empty()) {
            rest += ": " + printable(why);
        }
        say_cut({{"    ", nullptr}, {end.state, last ? kRed : kYellow}, {rest, nullptr}});
    }
}

void Display::show_tests(const ModuleDone& done) {
    const parsers::ModuleRecord& record = done.verdicts.record;
    PrintedResults printed;
    if (auto node = printed_.extract(done.path)) printed = std::move(node.mapped());
    const auto said = [&](const parsers::CaseRecord& test) -> std::optional<State> {
        const auto it = printed.states.find(test.id);
        return it == printed.states.end() ? std::nullopt : std::optional(it->second);
    };
    const size_t before = static_cast<size_t>(
        std::count_if(record.cases.begin(), record.cases.end(),
                      [&](const auto& test) { return said(test) == test.state; }));
    if (before > 0)
        say(fmt::format("    {} shown above", counted(static_cast<long>(before), "failure")));
    size_t shown = 0, bad_count = 0;
    for (const auto& test : record.cases) {
        const bool bad = analysis::needs_attention(test.state);
        // The module's line says why it could not be loaded.
        if (bad && test.pseudo && test.failure && record.outcome == ModuleOutcome::load_error) {
            const auto first = not_loaded_.find(test.failure->key_line());
            if (first != not_loaded_.end() && first->second == record.path)
                show_traceback(*test.failure);
            continue;
        }
        const auto as_said = said(test);
        bad_count += bad;
        if (as_said == test.state) continue;
        if (bad && before + shown >= kFailuresShown && options_.verbosity < 1) continue;
        if (!bad && as_said) {
            say(fmt::format("    {} {}: was reported above as {}", parsers::name_of(test.state),
                            printable(test.id), parsers::name_of(*as_said)));
            continue;
        }
        const bool skipped = test.state == State::skipped && options_.verbosity > 0;
        if (!bad && !skipped) continue;
        shown += bad;
        const std::string why = test.why();
        say_cut(
            {{"    ", nullptr},
             {std::string(parsers::name_of(test.state)), skipped ? kYellow : kRed},
             {fmt::format(" {}{}{}", printable(test.id), why.empty() ? "" : ": ", printable(why)),
              nullptr}});
    }
    if (bad_count > before + shown) say(fmt::format("    and {} more", bad_count - before - shown));
    for (size_t i = 0; i < record.cases.size(); ++i)
        if (done.verdicts.tests[i].flaky || done.verdicts.tests[i].fork_sensitive)
            say({{"    ", nullptr},
                 {done.verdicts.tests[i].flaky ? "flaky" : "fork-sensitive", kYellow},
                 {" " + printable(record.cases[i].id), nullptr}});
    const size_t named = std::min(done.leaked.size(), kLeakedShown);
    for (size_t i = 0; i < named; ++i) {
        const auto& leaked = done.leaked[i];
        say(fmt::format("    left process {} running, {}: {}", leaked.pid,
                        leaked.killed ? "killed" : "could not be killed",
                        printable(fmt::format("{}", fmt::join(leaked.argv, " ")))));
    }
    if (done.leaked.size() > named)
        say(fmt::format("    and {} more in the report", done.leaked.size() - named));
}

}  // namespace compat::display
