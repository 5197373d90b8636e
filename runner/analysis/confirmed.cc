#include "runner/analysis/confirmed.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <map>

namespace compat::analysis {

using parsers::CaseRecord;
using parsers::Failure;
using parsers::ModuleRecord;
using parsers::State;

namespace {

// Longer ones tell of data, and are not kept.
constexpr size_t kLongestMessage = 4096;

// Python's words between the parts of a chained traceback, the first cause first.
constexpr std::array<std::string_view, 2> kBetweenCauses{
    "\nThe above exception was the direct cause of the following exception:\n",
    "\nDuring handling of the above exception, another exception occurred:\n"};

bool is_assertion(const Failure& failure) {
    const std::string_view type = failure.type;
    return failure.counted == State::failed || type == "Failed" || type == "AssertionError" ||
           type.ends_with(".AssertionError");
}

bool is_file_of(std::string_view file, std::string_view module) {
    return file.ends_with(module) &&
           (file.size() == module.size() || file[file.size() - module.size() - 1] == '/');
}

// Of one part of a chained traceback the line that raised and the exception: from the last frame
// on as Python prints it, from the first line of the message on as pytest does, else all of it.
std::string_view last_words(std::string_view part) {
    for (const std::string_view begin : {"\n  File \"", "\nE  "}) {
        const auto at = begin[1] == 'E' ? part.find(begin) : part.rfind(begin);
        if (at != std::string_view::npos) return part.substr(at);
    }
    return part;
}

// What led to an exception, as its traceback tells.
std::string history_of(std::string_view traceback) {
    std::string history;
    for (;;) {
        size_t end = std::string_view::npos, next = 0;
        for (const std::string_view words : kBetweenCauses)
            if (const auto at = traceback.find(words); at < end) {
                end = at;
                next = at + words.size();
            }
        if (end == std::string_view::npos) return history;
        history += last_words(traceback.substr(0, end));
        history += '\n';
        traceback.remove_prefix(next);
    }
}

bool has_failed(State state) { return state == State::failed || state == State::errored; }

}  // namespace

std::string origin_of(const Failure& failure, std::string_view module) {
    if (is_assertion(failure) || failure.type.ends_with("ExceptionGroup")) return {};
    if (failure.type.empty() || failure.message.empty() || failure.frames.empty()) return {};
    const parsers::Frame& raised = failure.frames.back();
    const bool nowhere = raised.file.empty() || raised.file.starts_with('<') || raised.line == 0;
    if (nowhere || is_file_of(raised.file, module)) return {};
    const std::string history = history_of(failure.traceback);
    if (failure.message.size() + history.size() > kLongestMessage) return {};
    return failure.type + '\n' + raised.file + '\n' + std::to_string(raised.line) + '\n' +
           failure.message + '\n' + history;
}

std::vector<std::string> origins_of(const CaseRecord& test, std::string_view module) {
    if (!has_failed(test.state)) return {};
    std::set<std::string> origins;
    const auto add = [&](const Failure& failure) {
        return origins.insert(origin_of(failure, module)).first->empty();
    };
    bool alone = test.failure && add(*test.failure);
    for (const Failure& failure : test.also) alone = add(failure) || alone;
    for (const auto& sub : test.subcases)
        if (sub.failure)
            alone = add(*sub.failure) || alone;
        else
            alone = alone || has_failed(sub.state);
    if (alone) return {};
    return {origins.begin(), origins.end()};
}

void Confirmed::learn(const ModuleRecord& fresh, const ModuleRecord* forked) {
    std::map<std::string_view, std::vector<std::string>> before;
    if (forked)
        for (const CaseRecord& test : forked->cases)
            if (auto origins = origins_of(test, forked->path); !origins.empty())
                before.emplace(test.id, std::move(origins));
    for (const CaseRecord& test : fresh.cases) {
        if (test.state == State::not_run) continue;
        const auto origins = origins_of(test, fresh.path);
        if (const auto had = before.find(test.id); had != before.end())
            std::set_difference(had->second.begin(), had->second.end(), origins.begin(),
                                origins.end(), std::inserter(doubted_, doubted_.end()));
        seen_.insert(origins.begin(), origins.end());
    }
}

bool Confirmed::covers(const std::vector<std::string>& origins,
                       const std::multiset<std::string>& coming) const {
    return !origins.empty() &&
           std::all_of(origins.begin(), origins.end(), [&](const std::string& origin) {
               return !doubted_.contains(origin) &&
                      (seen_.contains(origin) || coming.contains(origin));
           });
}

}  // namespace compat::analysis
