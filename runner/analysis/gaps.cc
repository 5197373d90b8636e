#include "runner/analysis/gaps.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "parsers/place.h"
#include "runner/analysis/attempts.h"

namespace compat::analysis {

namespace {

using parsers::Failure;
using parsers::ModuleRecord;

// What a text says of a gap: the first group is the symbol, a second the device where the text
// names one.
struct Text {
    const char* pattern;
    GapKind kind;
    const char* symbol;       // "{}": the first group
    const char* device = "";  // what every such text is about
};
// Texts of the redirection's refusals (shim/python/compat_shim/refusal.py), of torch
// (aten/src/ATen/mps/MPSFallback.mm, core/dispatch/OperatorEntry.cpp, Dispatch.h,
// mps/EmptyTensor.cpp) and of Python's attribute errors.
constexpr Text kTexts[] = {
    {R"(\[symbol: ([\w.]+)\])", GapKind::missing_symbol, "{}"},
    {R"(The operator '([\w:.]+)' is not currently (?:implemented|supported) (?:for|on) the (\w+))",
     GapKind::op_unsupported, "{}"},
    {R"(Could not run '([\w:.]+)' (?:with arguments )?from the '(?:Sparse|SparseCsr|Quantized|NestedTensor|Autograd)?(\w+)' backend)",
     GapKind::op_unsupported, "{}"},
    {R"x("(\w+)" not implemented for '\w+')x", GapKind::dtype_unsupported, "{}"},
    {R"((\w+) is not supported on MPS)", GapKind::dtype_unsupported, "{}", "mps"},
    {R"(the MPS framework doesn't support (\w+))", GapKind::dtype_unsupported, "{}", "mps"},
    {R"(module 'torch[.]_C' has no attribute '(\w*(?:cuda|cudnn|CUDA)\w*)')", GapKind::shim_defect,
     "torch._C.{}"},
    {R"(cannot import name '(\w*(?:cuda|cudnn|CUDA)\w*)' from 'torch[.]_C')", GapKind::shim_defect,
     "torch._C.{}"},
};

struct Compiled {
    explicit Compiled(const Text& of) : pattern(of.pattern, RE2::Latin1), text(&of) {}
    RE2 pattern;
    const Text* text;
};
const std::vector<std::unique_ptr<Compiled>>& compiled() {
    static const auto all = [] {
        std::vector<std::unique_ptr<Compiled>> list;
        for (const Text& text : kTexts) list.push_back(std::make_unique<Compiled>(text));
        return list;
    }();
    return all;
}

// "module 'torch.mps' has no attribute 'ipc_collect'": two groups that make one symbol.
const RE2& module_attribute() {
    static const RE2 pattern(R"(module '(torch(?:[.][a-z][\w.]*)?)' has no attribute '(\w+)')",
                             RE2::Latin1);
    return pattern;
}

std::string lower(std::string_view text) {
    std::string out(text);
    std::transform(out.begin(), out.end(), out.begin(),
                   [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return out;
}

struct EventKind {
    std::string_view word;
    GapKind kind;
};
constexpr std::array<EventKind, 3> kEventKinds{{{"refusal", GapKind::missing_symbol},
                                                {"stub", GapKind::stubbed},
                                                {"fallback", GapKind::fallback}}};

std::optional<GapKind> kind_of_event(std::string_view word) {
    for (const EventKind& row : kEventKinds)
        if (row.word == word) return row.kind;
    return std::nullopt;
}

}  // namespace

std::vector<GapHit> gaps_in(const Failure& failure, const Target& target) {
    // Where the code under test, or a package of its own, called.
    const auto site =
        std::find_if(failure.frames.rbegin(), failure.frames.rend(), [](const auto& f) {
            const parsers::Owner owner = parsers::place_of(f.file).owner;
            return owner == parsers::Owner::suite || owner == parsers::Owner::package;
        });
    std::vector<GapHit> hits;
    const auto add = [&](std::string symbol, GapKind kind, std::string_view on) {
        GapHit hit;
        hit.key = {std::move(symbol), kind, on.empty() ? target.device : lower(on),
                   target.simulated};
        hit.blocks = true;
        if (site != failure.frames.rend()) {
            hit.file = site->file;
            hit.line = site->line;
        }
        if (std::none_of(hits.begin(), hits.end(),
                         [&](const GapHit& known) { return known.key == hit.key; }))
            hits.push_back(std::move(hit));
    };
    const re2::StringPiece message(failure.message.data(), failure.message.size());
    for (const auto& row : compiled()) {
        std::string symbol, on = row->text->device;
        const bool found = row->pattern.NumberOfCapturingGroups() > 1
                               ? RE2::PartialMatch(message, row->pattern, &symbol, &on)
                               : RE2::PartialMatch(message, row->pattern, &symbol);
        if (found) add(fmt::format(fmt::runtime(row->text->symbol), symbol), row->text->kind, on);
    }
    std::string module, name;
    if (RE2::PartialMatch(message, module_attribute(), &module, &name))
        add(module + "." + name, GapKind::missing_symbol, {});
    return hits;
}

std::vector<GapHit> gap_hits(const ModuleRecord& record, const Target& target) {
    std::vector<GapHit> hits;
    for (const auto& test : record.cases) {
        const auto add = [&](const Failure& failure) {
            for (GapHit& hit : gaps_in(failure, target)) {
                hit.test = test.id;
                hits.push_back(std::move(hit));
            }
        };
        if (!needs_attention(test.state)) continue;
        if (test.failure) add(*test.failure);
        for (const Failure& failure : test.also) add(failure);
        for (const auto& sub : test.subcases)
            if (sub.failure) add(*sub.failure);
    }
    for (const auto& event : record.device_events) {
        const auto kind = kind_of_event(event.kind);
        if (!kind) continue;
        GapHit hit;
        hit.key = {event.op, *kind, target.device, target.simulated};
        hit.test = event.test;
        hit.file = event.location.file;
        hit.line = event.location.line;
        hit.count = event.count;
        hits.push_back(std::move(hit));
    }
    return hits;
}

bool closes(const std::set<std::string>& blocked, const LaterRun& run, bool met) {
    if (met) return false;
    const auto any_of = [&](const std::set<std::string>& tests) {
        return std::any_of(blocked.begin(), blocked.end(),
                           [&](const std::string& test) { return tests.contains(test); });
    };
    return any_of(run.passed) && !any_of(run.not_passed);
}

GapFacts facts_of(const GapKey& key) {
    struct Row {
        GapKind kind;
        Severity severity;
        const char* description;
        const char* action;
    };
    static constexpr Row kRows[] = {
        {GapKind::missing_symbol, Severity::major, "{} has no counterpart on {}",
         "guard the call by the device, or call what the device has instead"},
        {GapKind::signature_differs, Severity::note, "{} is called otherwise on {}",
         "adapt the call"},
        {GapKind::op_unsupported, Severity::major, "{} has no kernel on {}",
         "run it on the CPU, or write it of operators that the device has"},
        {GapKind::dtype_unsupported, Severity::major, "{} is not there for this dtype on {}",
         "use another dtype there"},
        {GapKind::fallback, Severity::minor, "{} runs on the CPU instead of {}",
         "expect copies to and fro; look for another operator where it is hot"},
        {GapKind::behaviour_differs, Severity::minor, "{} does something else on {}", ""},
        {GapKind::stubbed, Severity::note, "{} is answered on {}, without its effect",
         "rely on its effect on CUDA alone"},
        {GapKind::shim_defect, Severity::blocker,
         "{} is asked for on {}, and the redirection does not have it", "report it"},
    };
    GapFacts facts;
    facts.key = key;
    for (const Row& row : kRows)
        if (row.kind == key.kind) {
            facts.severity = row.severity;
            facts.description = fmt::format(fmt::runtime(row.description), key.symbol, key.device);
            facts.action = row.action;
        }
    return facts;
}

std::map<GapKey, Blocked> blocked_by(const std::vector<GapHit>& hits) {
    std::map<std::string_view, std::set<GapKey>> of_test;
    for (const GapHit& hit : hits)
        if (hit.blocks && !hit.test.empty()) of_test[hit.test].insert(hit.key);
    std::map<GapKey, Blocked> blocked;
    for (const auto& [test, keys] : of_test)
        for (const GapKey& key : keys) {
            Blocked& row = blocked[key];
            ++row.tests;
            row.unblocked_alone += keys.size() == 1;
        }
    return blocked;
}

}  // namespace compat::analysis
