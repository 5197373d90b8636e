// Applies the rules to a corpus of failures, and measures their speed.
//
//     diagnosis CORPUS.jsonl [RULE]
//
// The corpus is as tests/support/failures.h reads it. Prints how many are diagnosed, by failure and
// by distinct signature, and each cause and rule with its count; with RULE ("unknown" for none) the
// distinct signatures it took, to judge them by eye. Of a labelled corpus, also what each rule
// matches alone, without the rules before it, that is labelled with another cause. Then failures a
// second, diagnosis and signature together, on one core: of the corpus again and again, and of
// failures that all differ.
#include <fmt/format.h>

#include <chrono>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "parsers/diagnosis/diagnose.h"
#include "parsers/diagnosis/signature.h"
#include "rules_json.h"
#include "tests/support/failures.h"

namespace {

using namespace compat::parsers;
namespace test = compat::test;

// Count and distinct signatures of each name.
using Rows = std::map<std::string, std::pair<int, std::set<std::string>>>;

void table(const char* title, const Rows& rows) {
    std::vector<std::tuple<int, size_t, std::string>> sorted;
    for (const auto& [name, row] : rows) sorted.emplace_back(-row.first, row.second.size(), name);
    std::sort(sorted.begin(), sorted.end());
    std::cout << fmt::format("\n{:<26} failures  signatures\n", title);
    for (const auto& [count, signatures, name] : sorted)
        std::cout << fmt::format("{:<26} {:>8}  {:>10}\n", name, -count, signatures);
}

// Failures labelled with another cause that a rule matches alone. Rules of last resort, which match
// nearly everything, are left out.
Rows matched_alone(const std::vector<test::Sample>& samples) {
    Rows rows;
    const auto file = nlohmann::json::parse(kRulesJson, nullptr, true, true);
    for (const auto& entry : file["rules"]) {
        const Rules alone = Rules::parse(nlohmann::json{{"rules", {entry}}}.dump()).value();
        if (alone.all().front().last_resort) continue;
        for (const test::Sample& sample : samples) {
            const Diagnosis diagnosis = alone.diagnose(sample.failure, sample.state);
            if (sample.cause.empty() || diagnosis.rule.empty() || sample.agrees(diagnosis.cause))
                continue;
            auto& row = rows[diagnosis.rule];
            ++row.first;
            row.second.insert(signature_of(sample.failure));
        }
    }
    return rows;
}

// Failures a second; `more` gives the next ones, and is not timed.
template <class More>
double a_second(More more) {
    using Clock = std::chrono::steady_clock;
    const Rules& rules = Rules::shipped();
    std::chrono::duration<double> spent{};
    size_t done = 0;
    while (spent < std::chrono::seconds(2)) {
        const std::vector<test::Sample> samples = more();
        const auto begin = Clock::now();
        for (const test::Sample& sample : samples) {
            (void)rules.diagnose(sample.failure, sample.state);
            (void)signature_of(sample.failure);
        }
        spent += Clock::now() - begin;
        done += samples.size();
    }
    return static_cast<double>(done) / spent.count();
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "diagnosis CORPUS.jsonl [RULE]\n";
        return 2;
    }
    const auto samples = test::read_failures(argv[1]);
    const std::string wanted = argc > 2 ? argv[2] : "";
    const Rules& rules = Rules::shipped();

    Rows causes, by_rule, shown;
    std::set<std::string> signatures;
    int told = 0, agreed = 0;
    for (const test::Sample& sample : samples) {
        const Diagnosis diagnosis = rules.diagnose(sample.failure, sample.state);
        const std::string signature = signature_of(sample.failure);
        const std::string rule = diagnosis.rule.empty() ? "unknown" : diagnosis.rule;
        signatures.insert(signature);
        if (!sample.cause.empty()) {
            ++told;
            const bool agrees = sample.agrees(diagnosis.cause);
            agreed += agrees;
            if (!agrees)
                std::cout << fmt::format("{} ({}), should be {}: {}\n", name_of(diagnosis.cause),
                                         rule, sample.cause, sample.failure.first_line());
        }
        for (auto* row : {&causes[std::string(name_of(diagnosis.cause))], &by_rule[rule]}) {
            ++row->first;
            row->second.insert(signature);
        }
        if (rule == wanted)
            ++shown[fmt::format("[{} {}] {}\n    {}", name_of(sample.state),
                                name_of(diagnosis.confidence), signature, diagnosis.key_line)]
                  .first;
    }
    const auto& unknown = causes["unknown"];
    const auto percent = [](size_t part, size_t whole) {
        return whole ? 100.0 * static_cast<double>(part) / static_cast<double>(whole) : 0.0;
    };
    std::cout << fmt::format(
        "{} failures, {} signatures; unknown {} ({:.1f} %), by signature {} ({:.1f} %)\n",
        samples.size(), signatures.size(), unknown.first,
        percent(static_cast<size_t>(unknown.first), samples.size()), unknown.second.size(),
        percent(unknown.second.size(), signatures.size()));
    if (told > 0)
        std::cout << fmt::format("{} of {} as expected ({:.1f} %)\n", agreed, told,
                                 percent(static_cast<size_t>(agreed), static_cast<size_t>(told)));
    table("cause", causes);
    table("rule", by_rule);
    if (told > 0) table("alone, labelled otherwise", matched_alone(samples));
    for (const auto& [text, row] : shown) std::cout << fmt::format("\n{} x {}\n", row.first, text);

    const double again = a_second([&] { return samples; });
    test::VariedFailures varied(samples, 1);
    const double differing = a_second([&] {
        std::vector<test::Sample> some;
        for (int i = 0; i < 2000; ++i) some.push_back(varied.next());
        return some;
    });
    std::cout << fmt::format("\nfailures a second: {:.0f} of the corpus, {:.0f} all different\n",
                             again, differing);
}
