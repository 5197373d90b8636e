// What the rules make of a corpus of failures, and how fast.
//
//     diagnosis CORPUS.jsonl [RULE]
//
// One failure a line: {"traceback": "text" or ["line", …], "status": "FAIL"|"ERROR"|a state};
// "type", "message" and "frames"
// ([[file, line, function], …]) where they are known apart, as the store has them. Prints how many
// are diagnosed, by failure and by distinct signature, each cause and rule with its count, failures
// a second; with RULE
// ("unknown" for none) the distinct signatures it took, to judge them by eye.
#include <fmt/format.h>

#include <chrono>
#include <fstream>
#include <iostream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "parsers/diagnose.h"
#include "parsers/signature.h"
#include "parsers/traceback.h"

namespace {

using namespace compat::parsers;

struct Sample {
    Failure failure;
    State state = State::errored;
    std::string cause;  // as it should be, "a|b": either; empty: nobody says
};

std::vector<Sample> read(const char* file) {
    std::vector<Sample> samples;
    std::ifstream in(file);
    for (std::string line; std::getline(in, line);) {
        const auto json = nlohmann::json::parse(line);
        std::string text;
        const auto traceback = json.value("traceback", nlohmann::json());
        if (traceback.is_array())
            for (const auto& part : traceback) text += part.get<std::string>() + "\n";
        else if (traceback.is_string())
            text = traceback;
        Sample sample{parse_traceback(text), State::errored, json.value("cause", "")};
        if (json.contains("type")) {
            sample.failure.type = json["type"];
            sample.failure.message = json.value("message", "");
            sample.failure.frames.clear();
            for (const auto& frame : json.value("frames", nlohmann::json::array()))
                sample.failure.frames.push_back({frame.at(0), frame.at(1), frame.at(2)});
        }
        const std::string status = json.value("status", "");
        sample.state = status == "FAIL" ? State::failed : state_of(status).value_or(State::errored);
        samples.push_back(std::move(sample));
    }
    return samples;
}

void table(const char* title,
           const std::map<std::string, std::pair<int, std::set<std::string>>>& rows) {
    std::vector<std::tuple<int, size_t, std::string>> sorted;
    for (const auto& [name, row] : rows) sorted.emplace_back(-row.first, row.second.size(), name);
    std::sort(sorted.begin(), sorted.end());
    std::cout << fmt::format("\n{:<26} failures  signatures\n", title);
    for (const auto& [count, signatures, name] : sorted)
        std::cout << fmt::format("{:<26} {:>8}  {:>10}\n", name, -count, signatures);
}

}  // namespace

int main(int argc, char** argv) {
    if (argc < 2) {
        std::cerr << "diagnosis CORPUS.jsonl [RULE]\n";
        return 2;
    }
    const auto samples = read(argv[1]);
    const std::string wanted = argc > 2 ? argv[2] : "";
    const Rules& rules = Rules::shipped();

    std::map<std::string, std::pair<int, std::set<std::string>>> causes, by_rule, shown;
    std::set<std::string> signatures;
    int told = 0, agreed = 0;
    for (const Sample& sample : samples) {
        const Diagnosis diagnosis = rules.diagnose(sample.failure, sample.state);
        const std::string signature = signature_of(sample.failure);
        const std::string rule = diagnosis.rule.empty() ? "unknown" : diagnosis.rule;
        signatures.insert(signature);
        if (!sample.cause.empty()) {
            ++told;
            const bool agrees = ("|" + sample.cause + "|").find(fmt::format("|{}|", name_of(diagnosis.cause))) !=
                                std::string::npos;
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
    for (const auto& [text, row] : shown) std::cout << fmt::format("\n{} x {}\n", row.first, text);

    using Clock = std::chrono::steady_clock;
    const auto begin = Clock::now();
    size_t done = 0;
    while (Clock::now() - begin < std::chrono::seconds(2))
        for (const Sample& sample : samples) {
            (void)rules.diagnose(sample.failure, sample.state);
            ++done;
        }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::cout << fmt::format("\n{:.0f} failures a second\n", static_cast<double>(done) / seconds);
}
