#include "parsers/unittest_scanner.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "parsers/closing.h"
#include "parsers/import/foreign.h"

namespace compat::parsers {

namespace {

// "tests/test_a.py" as Python names it: "tests.test_a".
std::string dotted(std::string_view module) {
    if (module.ends_with(".py")) module.remove_suffix(3);
    std::string out(module);
    std::replace(out.begin(), out.end(), '/', '.');
    return out;
}

struct TitleWord {
    std::string_view word;
    State state;
};
constexpr std::array<TitleWord, 3> kTitles{{
    {"ERROR", State::errored},
    {"FAIL", State::failed},
    {"UNEXPECTED SUCCESS", State::xpassed},
}};

struct Title {
    State state = State::failed;
    double duration_s = 0;
    std::string_view heading;
};

// "FAIL: test_x (m.A.test_x)", "ERROR [0.003s]: …" of unittest-xml-reporting.
std::optional<Title> title_of(std::string_view line) {
    for (const TitleWord& known : kTitles) {
        if (!line.starts_with(known.word)) continue;
        Title title{known.state, 0, line.substr(known.word.size())};
        if (const size_t close = title.heading.find("]: ");
            title.heading.starts_with(" [") && close != std::string_view::npos) {
            const auto seconds = seconds_of(title.heading.substr(2, close - 2));
            if (!seconds) return std::nullopt;
            title.duration_s = *seconds;
            title.heading.remove_prefix(close + 1);
        }
        if (!title.heading.starts_with(": ")) return std::nullopt;
        title.heading.remove_prefix(2);
        return title;
    }
    return std::nullopt;
}

// The file in "Running distributed/test_ops 1/2 ... [2024-05-01 12:34:56.123456]", with which the
// script that starts PyTorch's test files announces each.
std::string_view announced_file(std::string_view line) {
    constexpr std::string_view kRunning = "Running ";
    if (!line.starts_with(kRunning) || !line.ends_with(']')) return {};
    const size_t time = line.rfind(" ... [");
    if (time == std::string_view::npos || time < kRunning.size()) return {};
    const std::string_view file = line.substr(kRunning.size(), time - kRunning.size());
    return file.substr(0, file.find(' '));
}

// What unittest-xml-reporting prints before the first test.
constexpr std::string_view kRunningTests = "Running tests...";
constexpr std::string_view kDurations = "Slowest test durations";
constexpr std::string_view kRan = "Ran ";
// With which Python itself dies. A dump of its threads follows, and the names of its modules.
constexpr std::string_view kFatal = "Fatal Python error: ";
constexpr std::string_view kExtensions = "Extension modules: ";

}  // namespace

UnittestScanner::UnittestScanner(const UnittestLog& log)
    : log_(log), dotted_(dotted(log.module)), fallback_(valid_utf8(log.fallback)) {}

bool UnittestScanner::next(ModuleRecord& record) {
    taken_back_ = 0;
    doubt_.reset();
    begin_run(record);
    for (size_t from = next_, inner = 0;;) {
        const bool last = inner == inner_.size();
        const Read found = read(from, last ? log_.text.size() : inner_[inner].begin);
        if (found == Read::run_ended) return true;
        if (found == Read::again) {
            begin_run(record);
            from = next_;
            inner = 0;
        } else if (last) {
            break;
        } else {
            from = inner_[inner++].end;
        }
    }
    const bool content = has_content();
    if (!content) doubt();
    next_ = log_.text.size();
    end_run(std::nullopt, next_);
    return content || !characters_.empty();
}

// Reads lines of the run, up to its end.
UnittestScanner::Read UnittestScanner::read(size_t from, size_t to) {
    for (LogLines lines(log_.text.substr(0, to), from, !one_module()); lines.next();) {
        offset_ = lines.offset();
        after_ = lines.after();
        const std::string_view line = lines.line();
        if (!one_module() && offset_ >= whole_until_) {
            if (take_marker(lines)) {
                const bool begun = has_content() || !characters_.empty();
                next_ = begun ? offset_ : lines.after();
                earlier_.clear();  // of another program's
                if (!begun) continue;
                end_run(std::nullopt, offset_);
                return Read::run_ended;
            }
            if (take_names(line)) return Read::run_ended;
        }
        const bool after_blank = std::exchange(after_blank_, line.empty());
        if (line == kDoubleRule && take_title(lines)) {
            sections_.back().apart = after_blank;
            continue;
        }
        if (rule_ && line.starts_with(kRan)) {
            const size_t given = taken_back_;
            if (take_closing(lines))
                return std::exchange(again_, false) || taken_back_ > given ? Read::again
                                                                           : Read::run_ended;
        }
        rule_.reset();
        if (line == kRule) rule_ = offset_;
        if (after_blank && (line == "Stdout:" || line == "Stderr:"))
            mirrored_ = verbose_ && !one_module() && stage_ == Stage::results;
        if (stage_ == Stage::results)
            take_result(line);
        else if (stage_ == Stage::sections && within_test_)
            take_within_test(line);
        else if (stage_ == Stage::durations)
            take_duration(line);
        else if (line == kDurations) {
            close_section(offset_);
            stage_ = Stage::durations;
        }
    }
    return Read::all;
}

void UnittestScanner::begin_run(ModuleRecord& record) {
    record_ = &record;
    diagnose_.reset();
    record.cases.clear();
    record.diagnostics.clear();
    begin_ = next_;
    after_blank_ = in_dump_ = mirrored_ = false;
    record.cases.reserve(std::max<size_t>(last_size_, 16));
    diagnose_.emplace("log", record.diagnostics);
    stage_ = Stage::results;
    rule_.reset();
    drop_sections();
    documented_.reset();
    fatal_ = false;
    tail_from_ = next_;
    unended_.clear();
    said_.clear();
    progress_.clear();
    by_id_.clear();
    by_name_.clear();
    by_label_.clear();
    subs_.clear();
    namesakes_.clear();
    repeats_.clear();
    current_.reset();
    path_.clear();
    several_paths_ = false;
    owner_.clear();
    prefix_.clear();
    verbose_ = false;
    headers_ = printed_ = 0;
    room_before_ = room_;
    unnamed_.emplace(record, room_);
    characters_.clear();
    mixed_.clear();
    inside_ = 0;
    character_lines_.clear();
}

void UnittestScanner::end_run(std::optional<Closing> closing, size_t end) {
    tail_ = log_.text.substr(std::min(tail_from_, end), end - std::min(tail_from_, end));
    close_section(end);
    if (!one_module() && closing) fold_sections(*closing);
    if (!one_module()) keep_earlier(closing, closing ? next_ : end);
    for (const Section& section : sections_) add_section(section);
    if (closing) drop_printed(*closing);
    if (!one_module() && !verbose_) add_unnamed(closing);
    for (size_t i = 0; i < said_.size(); ++i) resolve(i, closing.has_value());
    if (!one_module() && verbose_ && closing) add_unsaid_skips(*closing);
    if (unnamed_->left_out() > 0) unnamed_->tell(begin_);
    if (given_up_ > 0)
        diagnose_->add(begin_, fmt::format("{} lines like those of tests are taken for what tests "
                                           "printed: as many characters as the closing counts tell "
                                           "of these",
                                           std::exchange(given_up_, 0)));
    inner_.clear();
    whole_until_ = 0;
    of_characters_ = false;
    record_->closing = std::move(closing);
    last_size_ = record_->cases.size();
    diagnose_.reset();
}

// A line with which another program says that a run begins.
bool UnittestScanner::take_marker(const LogLines& lines) {
    const std::string_view line = lines.line();
    if (!line.starts_with("Running ")) return false;
    if (const std::string_view file = announced_file(line); !file.empty()) {
        if (!has_content() && characters_.empty())
            fallback_ = valid_utf8(fmt::format("{}.py", file));
        return true;
    }
    if (line != kRunningTests) return false;
    LogLines rule = lines;
    return rule.next() && rule.line() == kRule;
}

// Sections stand between the results and the closing. Those that a test printed, running a
// framework itself, are followed by that framework's own closing.
bool UnittestScanner::take_title(LogLines& lines) {
    if (one_module() && (!log_.closing || offset_ > *log_.closing)) return false;
    LogLines ahead = lines;
    if (!ahead.next()) return false;
    const auto title = title_of(ahead.line());
    if (!title) return false;
    if (mirrored_ && stage_ == Stage::results && next_after(ahead) == Next::run) return false;
    if (status_within_) leave_sections();
    close_section(offset_);
    if (stage_ == Stage::results) within_test_ = current_ && !has_ended(*current_);
    status_within_.reset();
    stage_ = Stage::sections;
    rule_.reset();
    sections_.push_back({title->state, title->duration_s, std::string(title->heading), offset_,
                         ahead.after(), ahead.after()});
    const auto header = header_of(sections_.back().heading);
    own_section_ |= header && find(*header);
    lines = ahead;
    // Nothing stands under the title of an unexpected success.
    if (title->state == State::xpassed) return true;
    open_section_ = true;
    // A docstring's first line may stand between the title and its rule.
    for (int i = 0; i < 2 && ahead.next(); ++i)
        if (ahead.line() == kRule) {
            lines = ahead;
            sections_.back().body = lines.after();
            break;
        }
    return true;
}

void UnittestScanner::close_section(size_t end) {
    if (open_section_) sections_.back().end = std::max(end, sections_.back().body);
    open_section_ = false;
}

void UnittestScanner::take_result(std::string_view line) {
    if (line.empty()) {
        documented_.reset();
        return;
    }
    if (documented_) {
        const std::string heading = std::move(*documented_);
        documented_.reset();
        size_t dots = line.rfind(kEllipsis);
        if (dots != std::string_view::npos) {
            if (!unittest_status_of(line.substr(dots + kEllipsis.size())))
                dots = line.find(kEllipsis);
            begin(*header_of(heading));
            take_output(line.substr(dots + kEllipsis.size()));
            return;
        }
    }
    if (line.starts_with("  ")) {
        if (take_subtest(line.substr(2))) return;
        // unittest-xml-reporting indents its tests.
        if (!one_module())
            if (const auto header = header_of(line.substr(2)); header && is_test(*header))
                line.remove_prefix(2);
    }
    auto header = header_of(line);
    // Between tests, a fixture may have printed in front of it.
    if (!header && (!current_ || has_ended(*current_))) header = header_within(line);
    if (header && header->rest.empty() && (one_module() || is_test(*header)))
        documented_ = std::string(line), documented_at_ = offset_;
    else
        take_output(line, header);
}

void UnittestScanner::take_output(std::string_view line) { take_output(line, header_of(line)); }

// A line, or what follows " ... " on it. Where a test ended without a word (its sub-tests
// failed, up to Python 3.10) the next test's header follows on the same line.
void UnittestScanner::take_output(std::string_view line, std::optional<UnittestHeader> header) {
    while (header && !of_characters_ && header->rest.starts_with(kEllipsis) &&
           (one_module() || is_test(*header))) {
        begin(*header);
        line = header->rest.substr(kEllipsis.size());
        header = header_of(line);
    }
    if (current_ && line.starts_with(kFatal)) fatal_ = true;
    if (auto status = unittest_status_of(trimmed(line))) {
        if (current_)
            take_status(std::move(*status));
        else if (status->state == State::skipped)
            take_nameless_skip(std::move(status->reason));
    } else if (current_) {
        // A dump's frames end with names of functions.
        if (auto tail = unittest_status_at_end(line); tail && !fatal_) {
            tail_from_ = after_;
            Said& said = said_[*current_];
            CaseRecord& c = record_->cases[*current_];
            said.at_end = tail->state;
            c.duration_s = tail->duration_s;
            if (!said.any) c.reason = std::move(tail->reason);
        }
    } else if (!one_module()) {
        take_progress(line);
    }
}

void UnittestScanner::take_status(UnittestStatus status) {
    tail_from_ = after_;
    Said& said = said_[*current_];
    CaseRecord& c = record_->cases[*current_];
    c.duration_s += status.duration_s;
    if (broke(status.state) && !said.broke) said.broke = status.state;
    if (said.any) {
        printed_ += !said.again && *current_ > 0 && !c.pseudo && !has_ended(*current_ - 1);
        said.again = status.state;
        if (status.state == State::skipped) take_nameless_skip(std::move(status.reason));
        return;
    }
    said.any = true;
    c.state = status.state;
    c.reason = std::move(status.reason);
}

// A class or module fixture that skips all under it is not named, up to Python 3.10.
void UnittestScanner::take_nameless_skip(std::string reason) {
    diagnose_->add(
        offset_, "a class or module fixture skipped tests that the text does not name: " + reason);
    if (one_module()) return;
    verbose_ = true;
    CaseRecord skip;
    skip.state = State::skipped;
    skip.pseudo = true;
    skip.phase = Phase::class_setup;
    skip.reason = std::move(reason);
    add_unnamed(1, skip);
}

// "..F.s": lines of them alone, and where a test printed between them, both ends of its lines.
void UnittestScanner::take_progress(std::string_view line) {
    if (line.empty()) return;
    // A dump's lines begin with other words.
    if (in_dump_ && (!is_unittest_progress(line.front()) || line.starts_with(kExtensions))) return;
    in_dump_ = false;
    const size_t dies = line.find(kFatal);
    const auto* const text = std::find_if_not(
        line.begin(), line.begin() + std::min(dies, line.size()), is_unittest_progress);
    const auto count = static_cast<size_t>(text - line.begin());
    if (count == line.size() || count == dies) {
        character_lines_.push_back({characters_.size(), offset_});
        characters_.append(line.begin(), text);
        tail_from_ = count == dies ? offset_ : after_;
        in_dump_ = count == dies;
        fatal_ = fatal_ || in_dump_;
        return;
    }
    inside_ += static_cast<size_t>(std::count_if(line.begin(), line.end(), is_unittest_progress));
    mixed_.append(line.begin(), text);
    mixed_.append(std::find_if_not(line.rbegin(), line.rend(), is_unittest_progress).base(),
                  line.end());
}

// "0.123s     test_x (m.A.test_x)".
void UnittestScanner::take_duration(std::string_view line) {
    const size_t blank = line.find(' ');
    if (blank == std::string_view::npos) return;
    const auto seconds = seconds_of(line.substr(0, blank));
    const auto header = header_of(trimmed(line.substr(blank)));
    if (!seconds || !header) return;
    if (const auto i = find(*header)) record_->cases[*i].duration_s = *seconds;
}

// "  test_x (mod.Class.test_x) [message] (i=1) ... FAIL", since Python 3.11.
bool UnittestScanner::take_subtest(std::string_view line) {
    const auto header = header_of(line);
    if (!header || !current_ || header->key != key_of_current_) return false;
    const size_t dots = header->rest.rfind(kEllipsis);
    if (dots == std::string_view::npos) return false;
    const std::string_view label = trimmed(header->rest.substr(0, dots));
    if (label.empty() && !one_module()) return false;
    auto status = unittest_status_of(header->rest.substr(dots + kEllipsis.size()));
    if (!status) return false;
    SubCase& sub = subcase(*current_, label);
    sub.state = status->state;
    sub.reason = std::move(status->reason);
    return true;
}

SubCase& UnittestScanner::subcase(size_t i, std::string_view label) {
    std::vector<SubCase>& all = record_->cases[i].subcases;
    std::string name = valid_utf8(label);
    const std::uint32_t hash = NameIndex::hash_of(name) + static_cast<std::uint32_t>(i);
    const std::uint32_t* const known = by_label_.find(hash, [&](std::uint32_t at) {
        return subs_[at].i == i && all[subs_[at].sub].label == name;
    });
    if (known && !all[subs_[*known].sub].failure) return all[subs_[*known].sub];
    if (!known) {
        by_label_.add(hash, static_cast<std::uint32_t>(subs_.size()));
        subs_.push_back({i, all.size()});
    }
    all.push_back({});
    all.back().label = std::move(name);
    return all.back();
}

}  // namespace compat::parsers
