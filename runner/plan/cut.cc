#include "runner/plan/cut.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <numeric>
#include <queue>
#include <utility>

namespace compat::plan {

namespace {

bool parse_index(std::string_view text, std::size_t& into) {
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), into);
    return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

// Places in the plan, longest first.
std::vector<std::size_t> longest_first(const std::vector<Job>& jobs) {
    std::vector<std::size_t> order(jobs.size());
    std::iota(order.begin(), order.end(), 0);
    std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return jobs[a].cost != jobs[b].cost ? jobs[a].cost > jobs[b].cost
                                            : jobs[a].module < jobs[b].module;
    });
    return order;
}

// The shard, from 0, of each job.
std::vector<std::size_t> assign(const std::vector<Job>& jobs, const std::vector<std::size_t>& order,
                                std::size_t shards) {
    using Load = std::pair<double, std::size_t>;
    std::priority_queue<Load, std::vector<Load>, std::greater<>> loads;
    for (std::size_t i = 0; i < shards; ++i) loads.emplace(0, i);
    std::vector<std::size_t> of(jobs.size());
    for (const std::size_t job : order) {
        auto [load, shard] = loads.top();
        loads.pop();
        of[job] = shard;
        loads.emplace(load + jobs[job].cost, shard);
    }
    return of;
}

// Whether a shard's children, all busy, take at most `seconds`; one module cannot be cut.
bool fits(const std::vector<Job>& jobs, const std::vector<std::size_t>& of, std::size_t shards,
          double seconds, int parallel) {
    std::vector<double> load(shards, 0);
    std::vector<std::size_t> modules(shards, 0);
    for (std::size_t i = 0; i < jobs.size(); ++i) {
        load[of[i]] += jobs[i].cost;
        ++modules[of[i]];
    }
    for (std::size_t i = 0; i < shards; ++i)
        if (modules[i] > 1 && load[i] > seconds * parallel) return false;
    return true;
}

}  // namespace

Expected<Shard> parse_shard(std::string_view text) {
    Shard shard;
    const std::size_t slash = text.find('/');
    if (slash != std::string_view::npos && parse_index(text.substr(0, slash), shard.index) &&
        parse_index(text.substr(slash + 1), shard.count) && shard.index >= 1 &&
        shard.index <= shard.count && shard.count <= kMaxShards)
        return shard;
    return fail(ErrorKind::usage, fmt::format("\"{}\" is not a valid shard", text),
                fmt::format("use I/N with I at most N, such as 2/5; at most {} shards", kMaxShards),
                "--shard");
}

std::size_t parse_shard_index(std::string_view text) {
    std::size_t index = 0;
    return parse_index(text, index) && index <= kMaxShards ? index : 0;
}

Cut cut(const Plan& plan, const Selection& selection, std::size_t shards) {
    Cut made;
    made.shards.resize(shards);
    const auto of = assign(plan.jobs, longest_first(plan.jobs), shards);
    for (std::size_t i = 0; i < plan.jobs.size(); ++i) made.shards[of[i]].push_back(plan.jobs[i]);
    made.id = id_of(made.shards, selection);
    return made;
}

Expected<std::size_t> shards_within(const Plan& plan, double seconds, int parallel) {
    if (!plan.has_durations)
        return fail(ErrorKind::usage, "no duration of these modules is known",
                    "run them once, or say how many shards with --shards", "--target-time");
    const auto order = longest_first(plan.jobs);
    double alone = 0, rest = 0;  // shards of one module that is too long; what the others take
    for (const Job& job : plan.jobs)
        if (job.cost > seconds * parallel)
            ++alone;
        else
            rest += job.cost;
    constexpr double kStep = 1.02;  // finding the very least would take long for thousands
    const auto most = static_cast<double>(std::min(kMaxShards, plan.jobs.size()));
    double shards = std::max(1.0, alone + std::ceil(rest / (seconds * parallel)));
    while (shards < most &&
           !fits(plan.jobs, assign(plan.jobs, order, static_cast<std::size_t>(shards)),
                 static_cast<std::size_t>(shards), seconds, parallel))
        shards = std::max(shards + 1, std::floor(shards * kStep));
    return static_cast<std::size_t>(std::min(shards, most));
}

double expected_seconds(const std::vector<Job>& shard, int parallel) {
    double all = 0, longest = 0;
    for (const Job& job : shard) {
        all += job.cost;
        longest = std::max(longest, job.cost);
    }
    return std::max(all / parallel, longest);
}

std::string id_of(const std::vector<std::vector<Job>>& shards, const Selection& selection) {
    std::vector<std::string> words;
    for (std::size_t i = 0; i < shards.size(); ++i)
        for (const Job& job : shards[i]) {
            std::string& word = words.emplace_back(fmt::format("{} {}", job.module, i));
            // Without the module's name, which stands before them.
            for (const std::string& id : job.only) word += ' ' + id.substr(job.module.size() + 2);
        }
    std::sort(words.begin(), words.end());
    words.push_back(selection.keyword);
    words.insert(words.end(), selection.options.begin(), selection.options.end());
    std::uint64_t hash = 0xcbf29ce484222325u;
    for (const std::string& word : words)
        for (const char c : word + "\n")
            hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    return fmt::format("{:016x}", hash);
}

}  // namespace compat::plan
