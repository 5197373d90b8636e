// The tests of a run of unittest's: from what its lines were found to say to cases with one state
// each. The walk over the lines: unittest_scanner.cc.
#include <fmt/format.h>

#include <algorithm>

#include "parsers/closing.h"
#include "parsers/diagnosis/traceback.h"
#include "parsers/import/foreign.h"
#include "parsers/unittest_scanner.h"
#include "parsers/unnamed.h"

namespace compat::parsers {

namespace {

constexpr std::string_view kLoader = "unittest.loader.";

// Whether the printed name holds the method's, as since Python 3.11.
bool is_complete(const UnittestHeader& header) {
    const std::string_view name = header.qualified;
    const size_t method = header.method.size();
    return name.size() > method && name.ends_with(header.method) &&
           name[name.size() - method - 1] == '.';
}

// "mod.Class" of either form.
std::string_view owner_of(const UnittestHeader& header) {
    if (!is_complete(header)) return header.qualified;
    return header.qualified.substr(0, header.qualified.size() - header.method.size() - 1);
}

// "mod.Class.test_x" of either form.
std::string test_name(const UnittestHeader& header) {
    std::string name = valid_utf8(header.qualified);
    if (is_complete(header)) return name;
    name += '.';
    append_valid_utf8(name, header.method);
    return name;
}

// "unittest.case.FunctionTestCase (check)" is the function `check`, of the module that was run.
bool is_of_function(const UnittestHeader& header) {
    return header.qualified.find('.') == std::string_view::npos &&
           header.method.find('.') != std::string_view::npos;
}

}  // namespace

// Whether words of this form can be a test's, where nothing tells what was printed between.
bool UnittestScanner::is_test(const UnittestHeader& header) const {
    if (header.qualified[0] >= '0' && header.qualified[0] <= '9') return false;  // "ok (0.012s)"
    return header.qualified.find('.') != std::string_view::npos ||
           unittest_fixture_of(header.method) || is_of_function(header);
}

// A test's line begins. Python 3.12 prints it once more for a second status of the same test
// (its tear-down broke, too); a test that runs again had ended well or said nothing before.
void UnittestScanner::begin(const UnittestHeader& header) {
    if (current_ && header.key == key_of_current_) {
        const CaseRecord& c = record_->cases[*current_];
        const bool again = said_[*current_].any && (broke(c.state) || c.state == State::skipped);
        if (again || !c.subcases.empty()) return;
    }
    verbose_ = true;
    fatal_ = mirrored_ = false;
    if (current_ && !has_ended(*current_)) unended_.push_back({*current_, headers_});
    begins_at_ = documented_at_ > 0 ? documented_at_ : place_of(header.key).value_or(offset_);
    documented_at_ = 0;
    current_ = add(header);
    tail_from_ = after_ellipsis(offset_, after_);
    if (record_->cases[*current_].started) ++headers_;
    key_of_current_ = header.key;
}

size_t UnittestScanner::add(const UnittestHeader& header) {
    CaseRecord& c = record_->cases.emplace_back();
    const std::string_view qualified = header.qualified;
    const UnittestFixture* const fixture = unittest_fixture_of(header.method);
    c.started = true;
    if (qualified.starts_with(kLoader)) {
        c.name = valid_utf8(qualified);
        c.id = one_module() ? record_->path : path_of_module(header.method);
        c.id += "::<module>";
        c.pseudo = true;
        c.phase = Phase::load;
    } else if (fixture) {
        c.name = valid_utf8(qualified);
        if (fixture->of_class)
            c.id = prefix_of(qualified);
        else
            c.id = (one_module() ? record_->path : path_of_module(qualified)) + "::";
        c.id += fixture->pseudo;
        c.pseudo = true;
        c.started = false;
        c.phase = fixture->phase;
    } else if (is_of_function(header)) {
        c.name = valid_utf8(qualified);
        c.id = fmt::format("{}::{}", one_module() ? record_->path : fallback_, c.name);
    } else {
        c.name = test_name(header);
        const std::string& prefix = prefix_of(owner_of(header));
        c.id.reserve(prefix.size() + header.method.size());
        c.id += prefix;
        append_valid_utf8(c.id, header.method);
    }
    return place_case();
}

// Gives the last case an id of its own and makes it known by id and name.
size_t UnittestScanner::place_case() {
    std::vector<CaseRecord>& cases = record_->cases;
    CaseRecord& c = cases.back();
    const auto i = static_cast<std::uint32_t>(cases.size() - 1);
    const auto has_id = [&](std::uint32_t at) { return cases[at].id == c.id; };
    std::uint32_t hash = NameIndex::hash_of(c.id);
    if (const std::uint32_t* const first = by_id_.find(hash, has_id)) {
        const size_t repeated = *first;
        const std::string plain = c.id;
        do {
            c.id = fmt::format("{}#{}", plain, ++repeats_[repeated]);
            hash = NameIndex::hash_of(c.id);
        } while (by_id_.find(hash, has_id));
    }
    by_id_.add(hash, i);
    hash = NameIndex::hash_of(c.name);
    std::uint32_t* const named = by_name_.find(hash, [&](std::uint32_t at) {
        return cases[at].name == c.name && cases[at].phase == c.phase;
    });
    if (!named) {
        by_name_.add(hash, i);
    } else {
        std::vector<std::uint32_t>& all = namesakes_[c.name].cases;
        if (all.empty()) all.push_back(*named);
        all.push_back(i);
        *named = i;
    }
    repeats_.push_back(1);
    said_.push_back({});
    said_.back().offset = begins_at_;
    progress_.push_back(Progress::started);
    return i;
}

// The test that a section or a duration speaks of: of several with its name the last.
std::optional<size_t> UnittestScanner::find(const UnittestHeader& header) {
    const UnittestFixture* const fixture = unittest_fixture_of(header.method);
    const bool loader = header.qualified.starts_with(kLoader);
    const bool whole = loader || fixture || is_of_function(header);
    const std::string name = whole ? valid_utf8(header.qualified) : test_name(header);
    const Phase phase = loader ? Phase::load : fixture ? fixture->phase : Phase::call;
    const std::uint32_t* const at = by_name_.find(NameIndex::hash_of(name), [&](std::uint32_t i) {
        return record_->cases[i].name == name && record_->cases[i].phase == phase;
    });
    return at ? std::optional<size_t>(*at) : std::nullopt;
}

// Of several tests with the name the next one whose line says that it broke so.
std::optional<size_t> UnittestScanner::find_broken(const UnittestHeader& header, State state) {
    const auto last = find(header);
    if (!last) return last;
    const auto it = namesakes_.find(record_->cases[*last].name);
    if (it == namesakes_.end()) return last;
    Namesakes& all = it->second;
    size_t& next = state == State::failed ? all.next_failed : all.next_errored;
    while (next < all.cases.size())
        if (const std::uint32_t i = all.cases[next++]; said_[i].broke == state) return i;
    return last;
}

// Of a class's tests: "tests/test_a.py::Outer.Inner::".
const std::string& UnittestScanner::prefix_of(std::string_view owner) {
    if (owner == owner_ && !prefix_.empty()) return prefix_;
    owner_ = owner;
    if (one_module()) {
        prefix_ = fmt::format("{}::{}::", record_->path, valid_utf8(class_of(owner)));
    } else {
        const ClassPlace place = place_of_class(owner);
        prefix_ = valid_utf8(
            fmt::format("{}::{}::", place.path.empty() ? fallback_ : place.path, place.classes));
        note_path(std::string_view(prefix_).substr(0, prefix_.find("::")));
    }
    return prefix_;
}

std::string UnittestScanner::path_of_module(std::string_view dotted) {
    std::string path = fallback_;
    if (dotted != "__main__") {
        path = valid_utf8(dotted) + ".py";
        std::replace(path.begin(), path.end() - 3, '.', '/');
    }
    note_path(path);
    return path;
}

void UnittestScanner::note_path(std::string_view path) {
    if (several_paths_ || path == path_) return;
    several_paths_ = !path_.empty();
    path_ = several_paths_ ? std::string_view() : path;
}

// "tests.test_a.Outer.Inner" is "Outer.Inner" in tests/test_a.py, under whatever part of the
// path Python imported it. A class from elsewhere is known by its last word.
std::string UnittestScanner::class_of(std::string_view qualified) const {
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

void UnittestScanner::add_section(const Section& section) {
    const auto header = header_of(section.heading);
    if (section.state == State::xpassed) {
        // Where there are lines of tests, they have said so.
        if (header && !verbose_ && !one_module()) {
            const size_t i = add(*header);
            said_[i].any = true;
            record_->cases[i].state = State::xpassed;
        }
        return;
    }
    if (!header) {
        diagnose_->add(section.offset,
                       "a failure of no known test: " + valid_utf8(section.heading));
        return;
    }
    const std::string_view label = trimmed(header->rest);
    const auto known = label.empty() ? find_broken(*header, section.state) : find(*header);
    const size_t i = known ? *known : add(*header);
    CaseRecord& c = record_->cases[i];
    if (c.duration_s == 0) c.duration_s = section.duration_s;
    std::string plain;
    std::string_view body = log_.text.substr(section.body, section.end - section.body);
    if (!one_module()) body = unwrapped(body, plain);
    Failure failure = parse_traceback(body.substr(0, body.find_last_not_of('\n') + 1));
    failure.counted = section.state;
    failure.phase = c.phase;
    if (!label.empty()) {
        SubCase& sub = subcase(i, label);
        sub.state = section.state;
        sub.failure = std::move(failure);
        return;
    }
    (section.state == State::failed ? said_[i].failed_section : said_[i].errored_section) = true;
    if (!c.failure)
        c.failure = std::move(failure);
    else
        c.also.push_back(std::move(failure));
}

// Bounded, so that sums of them are none too great.
std::int64_t UnittestScanner::counted(const Closing& closing, std::string_view word) {
    return std::min(word.empty() ? *closing.ran : count_in(closing, word), kGreatestCount);
}

// The tests of a run that is not verbose, but for those that have a section. How many there are in
// which state the closing tells; the characters are there to be compared with it.
void UnittestScanner::add_unnamed(const std::optional<Closing>& closing) {
    CaseRecord like;
    like.started = true;
    const auto add = [&](State state, std::int64_t count) {
        like.state = state;
        add_unnamed(count, like);
    };
    if (!closing) {
        std::int64_t named = std::count_if(sections_.begin(), sections_.end(),
                                           [](const Section& s) { return broke(s.state); });
        for (const char c : characters_) {
            const State state = *unittest_state_of(c);
            if (!broke(state) || named-- <= 0) add(state, 1);
        }
        return;
    }
    std::int64_t named = 0;
    std::int64_t unexpected = counted(*closing, "unexpected successes");
    for (const CaseRecord& c : record_->cases) {
        named += c.started;
        unexpected -= c.state == State::xpassed;
    }
    const std::int64_t skipped = counted(*closing, "skipped");
    const std::int64_t expected = counted(*closing, "expected failures");
    // At least so many passed; more where some of the skips are of no test that was begun, but of a
    // class or module fixture, or of a test that has a section: as many as there are characters.
    const std::int64_t least = counted(*closing, {}) - named - skipped - expected - unexpected;
    const auto printed = [&](char c, std::string_view where) -> std::int64_t {
        return std::count(where.begin(), where.end(), c);
    };
    const std::int64_t passed =
        std::max(least, std::clamp(printed('.', characters_) + printed('.', mixed_),
                                   std::max<std::int64_t>(least, 0),
                                   std::max<std::int64_t>(least + skipped, 0)));
    add(State::passed, passed);
    add(State::skipped, skipped - std::min(passed - least, skipped));
    like.started = false;
    like.pseudo = true;
    like.phase = Phase::class_setup;
    add(State::skipped, std::min(passed - least, skipped));
    like = CaseRecord{};
    like.started = true;
    add(State::xfailed, expected);
    add(State::xpassed, unexpected);
    if (!mixed_.empty() || printed('.', characters_) != passed ||
        printed('s', characters_) != skipped || printed('x', characters_) != expected)
        diagnose_->add(first_character(),
                       "the characters of the tests are mixed with what was printed: how many "
                       "ended how is what the closing says");
}

void UnittestScanner::add_unnamed(std::int64_t count, const CaseRecord& like) {
    if (count <= 0) return;
    const std::string path =
        record_->cases.empty() ? fallback_ : std::string(module_of(record_->cases.back()));
    note_path(path);
    unnamed_->add(path, count, like);
    Said said;
    said.any = true;
    said.offset = offset_;
    said_.resize(record_->cases.size(), said);
    progress_.resize(record_->cases.size(), Progress::ended);
    repeats_.resize(record_->cases.size(), 1);
}

// Where each test has its line, what else was skipped was skipped by a class or module fixture, or
// by a test that a line says something worse of.
void UnittestScanner::add_unsaid_skips(const Closing& closing) {
    if (*closing.ran != headers_) return;
    std::int64_t missing = counted(closing, "skipped");
    for (const CaseRecord& c : record_->cases) {
        missing -= c.call_state.value_or(c.state) == State::skipped;
        for (const SubCase& sub : c.subcases) missing -= sub.state == State::skipped;
    }
    offset_ = begin_;
    for (missing = std::min(missing, room_.left); missing > 0; --missing) take_nameless_skip({});
}

void UnittestScanner::resolve(size_t i, bool finished) {
    CaseRecord& c = record_->cases[i];
    const Said& said = said_[i];
    progress_[i] = Progress::ended;
    if (said.failed_section || said.errored_section) return resolve_broken(c, said);
    const auto has_sub = [&](State state) {
        return std::any_of(c.subcases.begin(), c.subcases.end(),
                           [&](const SubCase& s) { return s.state == state; });
    };
    if (has_sub(State::failed) || has_sub(State::errored)) {
        c.state = has_sub(State::failed) ? State::failed : State::errored;
        c.call_state = State::passed;
        c.reason.clear();
    } else if (said.any) {
        // What broke has a section, and what was skipped does not pass: the test had printed it.
        const bool printed =
            broke(c.state) || (c.state == State::skipped && said.again == State::passed);
        if (!printed || !said.again || !finished || c.pseudo) return;
        c.state = *said.again;
        c.reason.clear();
    } else if (said.at_end) {
        c.state = *said.at_end;
    } else if (has_sub(State::skipped)) {
        c.state = State::skipped;
        c.call_state = State::passed;
        c.reason = c.subcases.front().reason;
    } else {
        progress_[i] = Progress::started;
    }
}

// Sections are printed errors first; which came first in the test, its lines tell.
void UnittestScanner::resolve_broken(CaseRecord& c, const Said& said) const {
    const bool skipped = said.any && c.state == State::skipped && !c.pseudo;
    if (skipped)
        c.call_state = State::skipped;
    else
        c.reason.clear();
    c.state = said.failed_section ? State::failed : State::errored;
    if (said.broke == State::failed && said.failed_section) c.state = State::failed;
    if (said.broke == State::errored && said.errored_section) c.state = State::errored;
    if (c.failure->counted == c.state) return;
    const auto same = std::find_if(c.also.begin(), c.also.end(),
                                   [&](const Failure& f) { return f.counted == c.state; });
    if (same != c.also.end()) std::swap(*c.failure, *same);
}

}  // namespace compat::parsers
