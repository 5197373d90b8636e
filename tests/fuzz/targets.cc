#include "tests/fuzz/targets.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "parsers/diagnosis/diagnose.h"
#include "parsers/diagnosis/signature.h"
#include "parsers/diagnosis/traceback.h"
#include "parsers/framework_summary.h"
#include "tests/parsers/attempt_invariants.h"
#include "tests/parsers/golden_archives.h"
#include "tests/parsers/import_invariants.h"
#include "tests/paths.h"

namespace compat::fuzz {

namespace {

using namespace compat::parsers;
using parsers::testing::broken_failure;
using parsers::testing::broken_import_invariant;
using parsers::testing::broken_invariant;

namespace fs = std::filesystem;

constexpr const char* kParsers = COMPAT_SOURCE_DIR "/tests/parsers";

// The golden files of folders that begin with `folder`, whose names end with `suffix`.
std::vector<std::string> goldens(std::string_view folder, std::string_view suffix) {
    std::vector<std::string> all;
    for (const auto& [name, bytes] : parsers::testing::golden_archives())
        if (name.starts_with(folder) && name.ends_with(suffix)) all.push_back(bytes);
    return all;
}

// How a process ended is no part of the bytes: each length has its own.
ProcessEnd end_of(std::string_view bytes) {
    constexpr std::array kKinds{ProcessEnd::Kind::exited, ProcessEnd::Kind::signaled,
                                ProcessEnd::Kind::timed_out};
    const ProcessEnd::Kind kind = kKinds[bytes.size() % kKinds.size()];
    const bool exited = kind == ProcessEnd::Kind::exited;
    return {kind, exited ? static_cast<int>(bytes.size() / 3 % 4) : 11, exited ? "" : "SIGSEGV"};
}

std::string broken_events(std::string_view bytes) {
    return broken_invariant({bytes, "", ""}, "unittest", "m.py", end_of(bytes));
}
std::string broken_unittest(std::string_view bytes) {
    return broken_invariant({"", bytes, ""}, "unittest", "m.py", end_of(bytes));
}
std::string broken_pytest(std::string_view bytes) {
    return broken_invariant({"", bytes, ""}, "pytest", "m.py", end_of(bytes));
}
std::string broken_devices(std::string_view bytes) {
    return broken_invariant({"", "", bytes}, "unittest", "m.py", end_of(bytes));
}

std::string broken_summary(std::string_view bytes) {
    for (const std::string_view framework : {"unittest", "pytest"})
        if (const auto found = find_summary(bytes, framework)) {
            if (found->begin >= found->end || found->end > bytes.size())
                return fmt::format("a summary from {} to {}", found->begin, found->end);
            for (const auto& [word, count] : found->summary.counts)
                if (word.empty() || count < 0) return "a count of nothing";
        }
    return {};
}

std::string broken_traceback(std::string_view bytes) {
    const std::string_view source = failing_source(bytes);
    if (!source.empty() && bytes.find(source) == std::string_view::npos)
        return "a statement that is not in the text";
    return broken_failure(parse_traceback(bytes));
}

// As a traceback, and as a message without a type.
std::vector<Failure> failures_of(std::string_view bytes) {
    Failure untyped;
    untyped.message = valid_utf8(bytes);
    return {parse_traceback(bytes), std::move(untyped)};
}

std::string broken_diagnosis(std::string_view bytes) {
    const auto& rules = Rules::shipped().all();
    for (const Failure& failure : failures_of(bytes))
        for (const State state :
             {State::failed, State::errored, State::crashed, State::timed_out}) {
            const Diagnosis diagnosis = Rules::shipped().diagnose(failure, state);
            if (valid_utf8(diagnosis.key_line) != diagnosis.key_line)
                return "a key line of no UTF-8";
            if (diagnosis.rule.empty() != (diagnosis.cause == Cause::unknown))
                return "a cause without a rule, or a rule without a cause";
            if (!diagnosis.rule.empty() &&
                std::none_of(rules.begin(), rules.end(),
                             [&](const Rule& rule) { return rule.id == diagnosis.rule; }))
                return "a rule that is none: " + diagnosis.rule;
        }
    return {};
}

std::string broken_signature(std::string_view bytes) {
    for (const Failure& failure : failures_of(bytes)) {
        const std::string signature = signature_of(failure);
        if (signature.size() > kSignatureBytes) return "a signature that is too long";
        if (valid_utf8(signature) != signature) return "a signature of no UTF-8";
        if (signature.find('\n') != std::string::npos) return "a signature of two lines";
    }
    return {};
}

// The first byte is the dialect.
std::string broken_import(std::string_view bytes) {
    if (bytes.empty()) return {};
    const auto dialect =
        static_cast<Dialect>(static_cast<unsigned char>(bytes[0]) % kDialectNames.size());
    bytes.remove_prefix(1);
    (void)recognise(signs_in(bytes));
    return broken_import_invariant(dialect, bytes);
}

std::vector<std::string> events_seeds() { return goldens("", ".events.jsonl"); }
std::vector<std::string> unittest_seeds() { return goldens("unittest-", ".log"); }
std::vector<std::string> pytest_seeds() { return goldens("pytest-", ".log"); }
std::vector<std::string> log_seeds() { return goldens("", ".log"); }

std::vector<std::string> devices_seeds() {
    // The shim writes one session and a line a site, an op or a process that ends.
    std::vector<std::string> seeds = events_seeds();
    std::ifstream test(fs::path(kParsers) / "devices_test.cc");
    for (std::string line; std::getline(test, line);) {
        const size_t begin = line.find("{\"");
        const size_t end = line.rfind('}');
        if (begin != std::string::npos && end != std::string::npos && begin < end)
            seeds.push_back(line.substr(begin, end + 1 - begin) + "\n");
    }
    return seeds;
}

std::vector<std::string> failure_seeds() {
    std::vector<std::string> seeds;
    std::ifstream labelled(fs::path(kParsers) / "labelled_failures.jsonl");
    for (std::string line; std::getline(labelled, line);) {
        const auto json = nlohmann::json::parse(line);
        std::string text = "Traceback (most recent call last):\n";
        for (const auto& frame : json.at("frames"))
            text += fmt::format("  File \"{}\", line {}, in {}\n    f()\n",
                                frame.at(0).get<std::string>(), frame.at(1).get<int>(),
                                frame.at(2).get<std::string>());
        seeds.push_back(text + json.at("type").get<std::string>() + ": " +
                        json.at("message").get<std::string>() + "\n");
    }
    return seeds;
}

// Every golden file in the dialect that it is taken for: those of new dialects come by themselves.
std::vector<std::string> import_seeds() {
    std::vector<std::string> seeds;
    for (const std::string& file : goldens("", ""))
        if (const auto dialect = recognise(signs_in(file)))
            seeds.push_back(static_cast<char>(*dialect) + file);
    return seeds;
}

constexpr std::array kTargets{
    Target{"events", broken_events, events_seeds},
    Target{"unittest", broken_unittest, unittest_seeds},
    Target{"pytest", broken_pytest, pytest_seeds},
    Target{"devices", broken_devices, devices_seeds},
    Target{"summary", broken_summary, log_seeds},
    Target{"traceback", broken_traceback, failure_seeds},
    Target{"diagnosis", broken_diagnosis, failure_seeds},
    Target{"signature", broken_signature, failure_seeds},
    Target{"import", broken_import, import_seeds},
};

}  // namespace

std::span<const Target> targets() { return kTargets; }

const Target* target_of(std::string_view name) {
    const auto* const it = std::find_if(kTargets.begin(), kTargets.end(),
                                        [&](const Target& target) { return target.name == name; });
    return it == kTargets.end() ? nullptr : it;
}

}  // namespace compat::fuzz
