#include "runner/analysis/scan/gap_scan.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "runner/base/device_kind.h"
#include "runner/base/names.h"

namespace compat::analysis {

namespace {

using Json = nlohmann::json;

constexpr int kScanFormat = 1;

// Counterparts under another name, from the documentation of torch.mps and torch.accelerator. A row
// counts only if the scanned torch has the counterpart. "{}" is the device.
struct Equivalent {
    std::string_view symbol;
    std::string_view counterpart;
};
constexpr std::array kEquivalents = std::to_array<Equivalent>({
    {"torch.cuda.Stream", "torch.Stream"},
    {"torch.cuda.amp.GradScaler", "torch.amp.GradScaler"},
    {"torch.cuda.amp.autocast", "torch.amp.autocast"},
    {"torch.cuda.amp.custom_bwd", "torch.amp.custom_bwd"},
    {"torch.cuda.amp.custom_fwd", "torch.amp.custom_fwd"},
    {"torch.cuda.current_device", "torch.accelerator.current_device_index"},
    {"torch.cuda.device", "torch.accelerator.device_index"},
    {"torch.cuda.is_available", "torch.backends.{}.is_available"},
    {"torch.cuda.manual_seed_all", "torch.{}.manual_seed"},
    {"torch.cuda.max_memory_cached", "torch.accelerator.max_memory_reserved"},
    {"torch.cuda.mem_get_info", "torch.accelerator.get_memory_info"},
    {"torch.cuda.memory_cached", "torch.accelerator.memory_reserved"},
    {"torch.cuda.memory_allocated", "torch.{}.current_allocated_memory"},
    {"torch.cuda.memory_reserved", "torch.{}.driver_allocated_memory"},
    {"torch.cuda.reset_max_memory_allocated", "torch.accelerator.reset_peak_memory_stats"},
    {"torch.cuda.reset_max_memory_cached", "torch.accelerator.reset_peak_memory_stats"},
    {"torch.cuda.seed_all", "torch.{}.seed"},
    {"torch.cuda.set_device", "torch.accelerator.set_device_index"},
    {"torch.backends.cuda.is_built", "torch.backends.{}.is_built"},
});

// Modules that may have a counterpart with an equal name.
constexpr std::array<std::string_view, 3> kCounterparts{"torch.{}", "torch.backends.{}",
                                                        "torch.accelerator"};
constexpr std::array<std::string_view, 4> kCudaModules{
    "torch.cuda", "torch.cuda.amp", "torch.backends.cuda", "torch.backends.cudnn"};

const ApiName* find(const ApiScan& scan, const std::string& symbol) {
    const size_t dot = symbol.rfind('.');
    const auto module = scan.modules.find(symbol.substr(0, dot));
    if (module == scan.modules.end()) return nullptr;
    const auto name = module->second.find(symbol.substr(dot + 1));
    return name == module->second.end() ? nullptr : &name->second;
}

// The symbol to call instead; empty where there is none.
std::string equivalent_of(const ApiScan& scan, const std::string& symbol, std::string_view name,
                          std::string_view device) {
    for (const std::string_view place : kCounterparts)
        if (const std::string same =
                fmt::format("{}.{}", fmt::format(fmt::runtime(place), device), name);
            find(scan, same))
            return same;
    for (const Equivalent& row : kEquivalents)
        if (row.symbol == symbol)
            if (const std::string instead = fmt::format(fmt::runtime(row.counterpart), device);
                find(scan, instead))
                return instead;
    return {};
}

// The names of the parameters, in order: "(device=None, *, x: int = 1) -> None" is device, *, x.
std::vector<std::string> parameters_of(const std::string& signature) {
    std::vector<std::string> names;
    int depth = 0;
    bool named = false;
    for (const char c : signature) {
        if (c == '(' || c == '[' || c == '{') {
            if (depth++ == 0) names.emplace_back(), named = true;
        } else if (c == ')' || c == ']' || c == '}') {
            if (--depth == 0) break;
        } else if (depth == 1 && c == ',') {
            names.emplace_back();
            named = true;
        } else if (depth == 1 && (c == ':' || c == '=')) {
            named = false;
        } else if (depth == 1 && named && c != ' ') {
            names.back() += c;
        }
    }
    std::erase(names, std::string());
    return names;
}

// Whether it accepts the arguments of CUDA's: its parameters begin with CUDA's, in order.
bool accepts_arguments_of(const ApiName& cuda, const ApiName& other) {
    if (!cuda.signature || !other.signature) return true;  // Python does not know
    const auto wanted = parameters_of(*cuda.signature);
    const auto own = parameters_of(*other.signature);
    if (std::any_of(own.begin(), own.end(), [](const auto& p) { return p.starts_with("*"); }) &&
        own.size() >= 2)
        return true;
    return own.size() >= wanted.size() && std::equal(wanted.begin(), wanted.end(), own.begin());
}

// Kernels that call a library of CUDA's: no other device needs them.
bool calls_vendor_library(std::string_view op) {
    for (const std::string_view word :
         {"cudnn", "cuda", "miopen", "cufft", "cublas", "cusparse", "cslt", "nccl"})
        if (op.find(word) != std::string_view::npos) return true;
    return false;
}

void add_names(const ApiScan& scan, std::string_view device, std::vector<GapFacts>& gaps) {
    for (const std::string_view module : kCudaModules) {
        const auto names = scan.modules.find(std::string(module));
        if (names == scan.modules.end()) continue;
        for (const auto& [name, cuda] : names->second) {
            const std::string symbol = fmt::format("{}.{}", module, name);
            const std::string instead = equivalent_of(scan, symbol, name, device);
            const ApiName* other = instead.empty() ? nullptr : find(scan, instead);
            if (other && accepts_arguments_of(cuda, *other)) continue;
            GapFacts gap =
                facts_of({symbol, other ? GapKind::signature_differs : GapKind::missing_symbol,
                          std::string(device)});
            if (other) {
                gap.equivalent = instead;
                gap.description = fmt::format("{}{} is {}{} on {}", symbol, *cuda.signature,
                                              instead, *other->signature, device);
            } else {
                gap.severity = cuda.kind == "value" ? Severity::note : Severity::minor;
            }
            if (const auto how = scan.masquerade.find(symbol); how != scan.masquerade.end())
                gap.description += how->second == "refused"
                                       ? "; the redirection refuses it"
                                       : "; the redirection answers without its effect";
            gaps.push_back(std::move(gap));
        }
    }
}

}  // namespace

Expected<ApiScan> parse_api_scan(std::string_view output) {
    // Imports may print before the scan, which is the last line.
    while (output.ends_with('\n')) output.remove_suffix(1);
    const std::string_view line = output.substr(output.rfind('\n') + 1);
    try {
        const Json json = Json::parse(line);
        if (json.at("format") != kScanFormat)
            return fail(ErrorKind::environment,
                        "the scan is of a format that this runner does not know");
        ApiScan scan;
        scan.torch = json.at("torch");
        scan.git = json.at("git").is_string() ? json["git"].get<std::string>() : "";
        scan.native_functions = json.at("native_functions");
        for (const auto& [module, names] : json.at("modules").items())
            for (const auto& [name, what] : names.items()) {
                ApiName& entry = scan.modules[module][name];
                entry.kind = what.at("kind");
                if (what.at("signature").is_string()) entry.signature = what["signature"];
            }
        if (json.at("masquerade").is_object())
            scan.masquerade = json["masquerade"].get<std::map<std::string, std::string>>();
        return scan;
    } catch (const Json::exception& error) {
        return fail(
            ErrorKind::environment,
            fmt::format("the scan of torch's API printed something else: {}", error.what()));
    }
}

std::vector<GapFacts> gaps_of(const ApiScan& scan, const std::vector<Operator>& operators,
                              std::string_view device) {
    std::vector<GapFacts> gaps;
    add_names(scan, device, gaps);
    const DeviceKind& cuda = device_kind("cuda");
    for (const Operator& op : operators) {
        if (!op.has_kernel(cuda) || op.has_kernel(device_kind(device)) || op.composite) continue;
        GapFacts gap = facts_of({qualified(op), GapKind::op_unsupported, std::string(device)});
        if (calls_vendor_library(op.name)) gap.severity = Severity::note;
        gaps.push_back(std::move(gap));
    }
    std::sort(gaps.begin(), gaps.end(),
              [](const GapFacts& a, const GapFacts& b) { return a.key < b.key; });
    return gaps;
}

}  // namespace compat::analysis
