#include "runner/analysis/gaps.h"

#include <fmt/format.h>
#include <re2/re2.h>

#include <algorithm>
#include <optional>
#include <set>

#include "parsers/diagnosis/diagnose.h"
#include "parsers/diagnosis/place.h"
#include "parsers/diagnosis/traceback.h"
#include "runner/analysis/attempts.h"

namespace compat::analysis {

namespace {

using parsers::Failure;
using parsers::ModuleRecord;

// A text that names a gap: the first group is the symbol, the second, if any, the device.
struct GapText {
    const char* pattern;
    GapKind kind;
    const char* symbol;       // "{}": the first group
    const char* device = "";  // of every such text
    bool of_kernel = false;   // the symbol is a kernel's name (device_of_kernel)
};
// Texts of the redirection's refusals (shim/python/compat_shim/refusal.py), of torch
// (aten/src/ATen/mps/MPSFallback.mm, core/dispatch/OperatorEntry.cpp, Dispatch.h,
// mps/EmptyTensor.cpp, native/mps/operations) and of Python's attribute errors.
#define DEVICES "(CPU|CUDA|MPS|XPU)"
// As torch and its C++ side spell them.
#define DTYPES                                                                                     \
    "(double|float|half|bfloat16|c?(?:double|float|half)|u?int(?:8|16|32|64)|float(?:16|32|64)|"   \
    "float8_\\w+|complex(?:32|64|128)|long|int|short|bool|Double|Float|Half|BFloat16|Float8_\\w+|" \
    "Complex(?:Double|Float|Half)|Long|Int|Short|Char|Byte|Bool|UInt(?:16|32|64))"
constexpr GapText kTexts[] = {
    {R"(\[symbol: ([\w.]+)\]\s*\z)", GapKind::missing_symbol, "{}"},
    {R"(The operator '([\w:.]+)' is not currently (?:implemented|supported) (?:for|on) the )" DEVICES
     R"(\b)",
     GapKind::op_unsupported, "{}"},
    {R"(Could not run '([\w:.]+)' (?:with arguments )?from the ')"
     R"((?:Autograd|NestedTensor|SparseCsr|Sparse|Quantized)*(?i:)" DEVICES
     R"()(?:' backend|(?::\d+)?' device))",
     GapKind::op_unsupported, "{}"},
    {R"x("(\w+)" not implemented for '\w+')x", GapKind::dtype_unsupported, "{}", "", true},
    {R"(\b)" DTYPES R"( is not supported on MPS\b)", GapKind::dtype_unsupported, "{}", "mps"},
    {R"(Trying to convert )" DTYPES R"( to the MPS backend\b)", GapKind::dtype_unsupported, "{}",
     "mps"},
    {R"(the MPS framework doesn't support )" DTYPES R"(\b)", GapKind::dtype_unsupported, "{}",
     "mps"},
    {R"(Operation '(\w+)(?:\(\))?' does not support input type '[^']+' in MPS backend)",
     GapKind::dtype_unsupported, "{}", "mps"},
    {R"(MPS (?:device )?does not support (\w+)(?: op with \w+ input| for non-float input))",
     GapKind::dtype_unsupported, "{}", "mps"},
    {R"(module 'torch[.]_C' has no attribute '(\w*(?:cuda|cudnn|CUDA)\w*)')", GapKind::shim_defect,
     "torch._C.{}"},
    {R"(cannot import name '(\w*(?:cuda|cudnn|CUDA)\w*)' from 'torch[.]_C')", GapKind::shim_defect,
     "torch._C.{}"},
};
#undef DEVICES
#undef DTYPES

struct CompiledText {
    explicit CompiledText(const GapText& of) : pattern(of.pattern, RE2::Latin1), text(&of) {}
    RE2 pattern;
    const GapText* text;
};
const std::vector<std::unique_ptr<CompiledText>>& compiled() {
    static const auto all = [] {
        std::vector<std::unique_ptr<CompiledText>> list;
        for (const GapText& text : kTexts) list.push_back(std::make_unique<CompiledText>(text));
        return list;
    }();
    return all;
}

// "module 'torch.mps' has no attribute 'ipc_collect'": two groups that make one symbol.
const RE2& module_attribute() {
    static const RE2 pattern(
        R"(module '(torch[.](?:cuda|mps|accelerator|backends)(?:[.]\w+)*)' has no attribute '(\w+)')",
        RE2::Latin1);
    return pattern;
}

// The device of a kernel that does not support a dtype. Most names have it ("addmm_impl_cpu_"); on
// a simulated device every kernel is the CPU's.
std::string device_of_kernel(const std::string& kernel, const Target& target) {
    static const RE2 named(R"((?:\A|_)(cpu|cuda|mps|xpu)(?:_|\z))", RE2::Latin1);
    std::string device;
    if (RE2::PartialMatch(kernel, named, &device)) return device;
    return target.simulated ? "cpu" : target.device;
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

bool is_of_suite(const std::string& file) {
    return !file.empty() && parsers::place_of(file).owner == parsers::Owner::suite;
}

// An assertion quotes the compared values: it names no gap.
bool is_assertion(std::string_view type) {
    type.remove_prefix(type.rfind('.') + 1);
    return type == "AssertionError" || type == "Failed" || type == "Failure";
}

// A refusal names an operator ("aten::mm"), a dtype ("float64") or a symbol of Python
// ("torch.cuda.CUDAGraph").
std::optional<GapKind> kind_of_event(std::string_view word, std::string_view op) {
    if (word == "refusal" && op.find("::") != std::string_view::npos)
        return GapKind::op_unsupported;
    if (word == "refusal" && op.find('.') == std::string_view::npos)
        return GapKind::dtype_unsupported;
    for (const EventKind& row : kEventKinds)
        if (row.word == word) return row.kind;
    return std::nullopt;
}

}  // namespace

std::vector<GapHit> gaps_in(const Failure& failure, const Target& target) {
    // Such a comparison says nothing of the device, whatever words it quotes.
    if (failure.diagnosis &&
        parsers::Rules::shipped().cause_without_generated(failure.diagnosis->rule))
        return {};
    if (is_assertion(failure.type)) {
        // Unless it repeats the error of a process that the test started.
        const auto inner = parsers::reports_exit(failure.message)
                               ? parsers::embedded_traceback(failure.message)
                               : std::nullopt;
        if (!inner || is_assertion(inner->type)) return {};
        return gaps_in(*inner, target);
    }
    // The call in the code under test, or else in a package that it uses.
    const auto innermost_of = [&](parsers::Owner owner) {
        return std::find_if(failure.frames.rbegin(), failure.frames.rend(), [&](const auto& f) {
            return parsers::place_of(f.file).owner == owner;
        });
    };
    auto site = innermost_of(parsers::Owner::suite);
    if (site == failure.frames.rend()) site = innermost_of(parsers::Owner::package);
    std::vector<GapHit> hits;
    const auto add = [&](std::string symbol, GapKind kind, std::string_view on) {
        GapHit hit;
        const std::string device = on.empty() ? target.device : lower(on);
        hit.key = {std::move(symbol), kind, device, target.simulated && device == target.device};
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
        if (!found || (row->text->kind == GapKind::shim_defect && failure.diagnosis &&
                       failure.diagnosis->cause != parsers::Cause::shim_defect))
            continue;
        if (row->text->of_kernel) on = device_of_kernel(symbol, target);
        add(fmt::format(fmt::runtime(row->text->symbol), symbol), row->text->kind, on);
    }
    std::string module, name;
    if (RE2::PartialMatch(message, module_attribute(), &module, &name))
        add(module + "." + name, GapKind::missing_symbol, {});
    return hits;
}

std::vector<GapHit> gap_hits(const ModuleRecord& record, const Target& target) {
    std::vector<GapHit> from_failures, recorded;
    for (const auto& test : record.cases) {
        const auto add = [&](const Failure& failure) {
            for (GapHit& hit : gaps_in(failure, target)) {
                hit.test = test.id;
                from_failures.push_back(std::move(hit));
            }
        };
        if (!needs_attention(test.state)) continue;
        if (test.failure) add(*test.failure);
        for (const Failure& failure : test.also) add(failure);
        for (const auto& sub : test.subcases)
            if (sub.failure) add(*sub.failure);
    }
    using InTest = std::pair<GapKey, std::string>;
    std::map<InTest, const GapHit*> blocking;
    std::set<InTest> counted;
    for (const GapHit& hit : from_failures) blocking.emplace(InTest{hit.key, hit.test}, &hit);
    for (const auto& event : record.device_events) {
        const auto kind = kind_of_event(event.kind, event.op);
        if (!kind) continue;
        GapHit hit;
        hit.key = {event.op, *kind, target.device, target.simulated};
        hit.test = event.test;
        hit.file = event.location.file;
        hit.line = event.location.line;
        hit.count = event.count;
        const auto failure = blocking.find({hit.key, hit.test});
        hit.blocks = failure != blocking.end();
        // The shim sees the line that called torch, which may be a library's. A failure has all
        // lines above it.
        if (hit.blocks && !is_of_suite(hit.file) && is_of_suite(failure->second->file)) {
            hit.file = failure->second->file;
            hit.line = failure->second->line;
        }
        counted.emplace(hit.key, hit.test);
        recorded.push_back(std::move(hit));
    }
    std::erase_if(from_failures, [&](const GapHit& hit) {
        return counted.contains(InTest{hit.key, hit.test});
    });
    std::move(recorded.begin(), recorded.end(), std::back_inserter(from_failures));
    return from_failures;
}

namespace {

bool has_passed(const std::string& row, const std::set<std::string>& passed) {
    const size_t fixture = row.find("::<");
    if (fixture == std::string::npos) return passed.contains(row);
    const std::string above = row.substr(0, fixture + 2);
    const auto below = passed.lower_bound(above);
    return below != passed.end() && below->starts_with(above);
}

}  // namespace

GapProgress progress_of_gaps(const std::vector<BlockedTest>& blocked, const LaterRun& run) {
    std::set<GapKey> met;
    std::set<std::pair<GapKey, std::string>> met_in;
    for (const GapHit& hit : run.hits) {
        met.insert(hit.key);
        met_in.emplace(hit.key, hit.test);
    }
    GapProgress progress;
    std::set<GapKey> passed, left;
    for (const BlockedTest& row : blocked) {
        if (row.suite != run.suite || !row.same_target || !has_passed(row.test, run.passed) ||
            met_in.contains({row.gap, row.test})) {
            left.insert(row.gap);
            continue;
        }
        GapHit& hit = progress.passed.emplace_back();
        hit.key = row.gap;
        hit.test = row.test;
        hit.count = 0;
        passed.insert(row.gap);
    }
    for (const GapKey& gap : passed)
        if (!left.contains(gap) && !met.contains(gap)) progress.closed.push_back(gap);
    return progress;
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
        {GapKind::dtype_unsupported, Severity::major, "{} on {}: this dtype is not supported",
         "use another dtype there, float32 for float64, or keep that part on the CPU"},
        {GapKind::fallback, Severity::minor, "{} runs on the CPU instead of {}",
         "expect copies between device and CPU; use another operator in hot code"},
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

std::map<GapKey, BlockedCount> count_blocked(const std::vector<std::vector<GapHit>>& runs) {
    // By gap and blocked test: whether no other gap blocks it in one of the runs.
    std::map<GapKey, std::map<std::string_view, bool>> tests;
    for (const auto& hits : runs) {
        std::map<std::string_view, std::set<GapKey>> of_test;
        for (const GapHit& hit : hits)
            if (hit.blocks && !hit.test.empty()) of_test[hit.test].insert(hit.key);
        for (const auto& [test, keys] : of_test)
            for (const GapKey& key : keys) tests[key][test] |= keys.size() == 1;
    }
    std::map<GapKey, BlockedCount> blocked;
    for (const auto& [key, of_gap] : tests)
        for (const auto& [test, alone] : of_gap) {
            BlockedCount& row = blocked[key];
            ++row.tests;
            row.unblocked_alone += alone;
        }
    return blocked;
}

}  // namespace compat::analysis
