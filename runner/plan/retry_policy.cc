#include "runner/plan/retry_policy.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string_view>
#include <unordered_map>

namespace compat::plan {

namespace {

constexpr const char* kLostFixture = "its fixture ended the process twice";

// One test over all attempts, in the order in which tests were first seen.
struct Test {
    std::string id;
    Fate fate = Fate::unreached;  // of the last attempt that reached it
    bool forked = false;          // seen only in a forked process, and not deferred
    bool was_bad = false;         // in an attempt before that one
    int again = 0;                // number of repetitions together with other failures
    int alone = 0;                // number of repetitions alone
};

class History {
  public:
    explicit History(const std::vector<Attempt>& attempts) : attempts_(attempts) {
        for (const Attempt& attempt : attempts)
            for (const Row& row : attempt.rows)
                if (!row.pseudo) add(attempt, row);
        for (const Attempt& attempt : attempts)
            if (attempt.kind == AttemptKind::alone && !attempt.stopped)
                for (const std::string& id : attempt.asked)
                    if (const auto at = places_.find(id); at != places_.end())
                        ++tests_[at->second].alone;
    }

    [[nodiscard]] const std::vector<Test>& tests() const { return tests_; }
    [[nodiscard]] const Attempt& last() const { return attempts_.back(); }

    [[nodiscard]] int finished(AttemptKind kind) const {
        return static_cast<int>(
            std::count_if(attempts_.begin(), attempts_.end(),
                          [&](const Attempt& a) { return a.kind == kind && !a.stopped; }));
    }

    [[nodiscard]] int deaths(AttemptKind kind) const {
        return static_cast<int>(std::count_if(
            attempts_.begin(), attempts_.end(),
            [&](const Attempt& a) { return a.kind == kind && !a.stopped && died(a); }));
    }

    // The last attempt at the whole module, and whether it broke outside of its tests.
    [[nodiscard]] const Attempt& whole() const {
        return *std::find_if(attempts_.rbegin(), attempts_.rend(),
                             [](const Attempt& a) { return a.kind == AttemptKind::whole; });
    }

    template <class Wanted>
    [[nodiscard]] std::vector<std::string> ids(Wanted wanted) const {
        std::vector<std::string> found;
        for (const Test& test : tests_)
            if (wanted(test)) found.push_back(test.id);
        return found;
    }

    // "path::Class::" of the fixtures in which two processes died.
    [[nodiscard]] std::vector<std::string> lost_fixtures() const {
        std::map<std::string, int> deaths;
        for (const Attempt& attempt : attempts_)
            for (const Row& row : attempt.rows)
                if (row.pseudo && row.fate == Fate::died && !row.id.ends_with("::<module>"))
                    ++deaths[row.id.substr(0, row.id.rfind('<'))];
        std::vector<std::string> lost;
        for (const auto& [prefix, count] : deaths)
            if (count > 1) lost.push_back(prefix);
        return lost;
    }

    // The number of latest processes in a row that reached no test.
    [[nodiscard]] int idle() const {
        int count = 0;
        for (auto it = attempts_.rbegin(); it != attempts_.rend() && !moved(*it); ++it)
            count += !it->stopped;
        return count;
    }
    [[nodiscard]] static bool moved(const Attempt& attempt) {
        return std::any_of(attempt.rows.begin(), attempt.rows.end(), [](const Row& row) {
            return !row.pseudo && row.fate != Fate::unreached;
        });
    }
    [[nodiscard]] static bool died(const Attempt& attempt) {
        return std::any_of(attempt.rows.begin(), attempt.rows.end(),
                           [](const Row& row) { return row.fate == Fate::died; });
    }
    [[nodiscard]] static bool broke_outside(const Attempt& attempt, Fate worst) {
        return std::any_of(attempt.rows.begin(), attempt.rows.end(), [&](const Row& row) {
            return row.pseudo && (row.fate == Fate::bad || row.fate == worst);
        });
    }

  private:
    void add(const Attempt& attempt, const Row& row) {
        const auto [at, added] = places_.try_emplace(row.id, tests_.size());
        if (added) tests_.push_back({row.id});
        if (row.fate == Fate::unreached) return;
        Test& test = tests_[at->second];
        if (attempt.kind == AttemptKind::whole) {  // earlier attempts no longer count
            test.again = 0;
            test.fate = Fate::unreached;
            test.was_bad = false;
        }
        test.was_bad = test.was_bad || test.fate == Fate::bad;
        test.fate = row.fate;
        test.forked = attempt.forked && !row.deferred;
        test.again += attempt.kind == AttemptKind::again;
    }

    const std::vector<Attempt>& attempts_;
    std::vector<Test> tests_;
    std::unordered_map<std::string, size_t> places_;
};

bool under(const std::vector<std::string>& prefixes, std::string_view id) {
    return std::any_of(prefixes.begin(), prefixes.end(),
                       [&](const std::string& prefix) { return id.starts_with(prefix); });
}

// The ids of the next attempt at unreached tests. If there is no attempt, `why` is the reason.
std::vector<std::string> left(const History& history, const AttemptLimits& limits,
                              std::string& why) {
    const auto lost = history.lost_fixtures();
    auto ids = history.ids(
        [&](const Test& test) { return test.fate == Fate::unreached && !under(lost, test.id); });
    const int restarts = history.finished(AttemptKind::rest);
    const Attempt& last = history.last();
    if (!last.known && !last.stopped)
        why = "collection failed";
    else if (restarts >= limits.restarts)
        why = fmt::format("the module was started again {} times (limits.restarts)", restarts);
    else if (history.idle() > 0 && !last.stopped && !History::died(last))
        why = "the framework stops before it";
    else if (ids.empty())
        why = kLostFixture;
    // Processes that die in fixtures reach no test either; each fixture is tried twice.
    else if (history.idle() > 1 && lost.empty())
        why = "the process died twice before any test";
    if (!why.empty()) ids.clear();
    return ids;
}

std::optional<AttemptRequest> of(AttemptKind kind, std::vector<std::string> ids) {
    if (ids.empty()) return std::nullopt;
    if (kind == AttemptKind::alone) ids.resize(1);
    return AttemptRequest{kind, std::move(ids)};
}

std::optional<AttemptRequest> rest(const History& history, const AttemptLimits& limits) {
    std::string why;
    return of(AttemptKind::rest, left(history, limits, why));
}

std::optional<AttemptRequest> culprit_alone(const History& history, const AttemptLimits&) {
    return of(AttemptKind::alone, history.ids([](const Test& test) {
        return test.fate == Fate::died && test.alone == 0;
    }));
}

std::optional<AttemptRequest> failures_again(const History& history, const AttemptLimits& limits) {
    const Attempt& last = history.last();
    if (last.kind == AttemptKind::again && !last.stopped && !History::moved(last))
        return std::nullopt;
    // Failures that kill their process when repeated keep their first result.
    if (history.deaths(AttemptKind::again) > limits.restarts) return std::nullopt;
    return of(AttemptKind::again, history.ids([&](const Test& test) {
        return test.fate == Fate::bad && test.alone == 0 &&
               (test.forked || test.again < limits.retries);
    }));
}

std::optional<AttemptRequest> differing(const History& history, const AttemptLimits& limits) {
    const auto differs = [](const Test& test) {
        return test.again > 0 && test.was_bad && test.fate == Fate::good;
    };
    const auto& tests = history.tests();
    // A test that ran before it may be the cause, in a fresh process too.
    if (history.whole().forked)
        return std::any_of(tests.begin(), tests.end(), differs)
                   ? std::optional(AttemptRequest{AttemptKind::whole, {}})
                   : std::nullopt;
    const auto done = std::count_if(tests.begin(), tests.end(), [&](const Test& test) {
        return test.alone > 0 && test.was_bad && test.again > 0;
    });
    if (done >= limits.restarts) return std::nullopt;
    return of(AttemptKind::alone,
              history.ids([&](const Test& test) { return differs(test) && test.alone == 0; }));
}

std::optional<AttemptRequest> whole_again(const History& history, const AttemptLimits& limits) {
    const Attempt& whole = history.whole();
    const AttemptRequest next{AttemptKind::whole, {}};
    if (whole.stopped) return whole.known ? std::nullopt : std::optional(next);
    if (whole.forked)
        return !whole.known || History::broke_outside(whole, Fate::died) ? std::optional(next)
                                                                         : std::nullopt;
    const bool broke = !whole.known || History::broke_outside(whole, Fate::bad);
    if (broke && history.finished(AttemptKind::rest) == 0 &&
        history.finished(AttemptKind::whole) <= limits.retries)
        return next;
    return std::nullopt;
}

// Whatever ends a module before its tests do would end it with every other stream, too.
std::optional<AttemptRequest> next_stream(const History& history, const AttemptLimits& limits) {
    const Attempt& last = history.last();
    const bool ran = last.stopped || (last.known && !History::died(last));
    return ran && history.finished(AttemptKind::whole) < limits.seeds
               ? std::optional(AttemptRequest{})
               : std::nullopt;
}

using Rule = std::optional<AttemptRequest> (*)(const History&, const AttemptLimits&);
constexpr Rule kRules[] = {whole_again, rest, culprit_alone, failures_again, differing};
constexpr Rule kFailuresFirst[] = {whole_again, culprit_alone, failures_again, differing};

}  // namespace

std::optional<AttemptRequest> next_attempt(const std::vector<Attempt>& attempts,
                                           const AttemptLimits& limits) {
    if (attempts.empty()) return AttemptRequest{};
    const History history(attempts);
    if (limits.seeds > 0) return next_stream(history, limits);
    if (limits.maxfail == 0) {
        for (const Rule rule : kRules)
            if (auto next = rule(history, limits)) return next;
        return std::nullopt;
    }
    for (const Rule rule : kFailuresFirst)
        if (auto next = rule(history, limits)) return next;
    const auto failed = std::count_if(
        history.tests().begin(), history.tests().end(),
        [](const Test& test) { return test.fate == Fate::bad || test.fate == Fate::died; });
    return failed < limits.maxfail ? rest(history, limits) : std::nullopt;
}

std::string NotRunReasons::reason_for(std::string_view id) const {
    return under(lost_, id) ? kLostFixture : why_;
}

NotRunReasons not_run_reasons(const std::vector<Attempt>& attempts, const AttemptLimits& limits) {
    if (attempts.empty()) return {{}, {}};
    const History history(attempts);
    std::string why;
    (void)left(history, limits, why);
    return {std::move(why), history.lost_fixtures()};
}

}  // namespace compat::plan
