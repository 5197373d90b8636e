#include "runner/display/program_report.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <span>
#include <vector>

#include "runner/base/names.h"
#include "runner/base/text.h"
#include "runner/display/device_lines.h"

namespace compat::display {

namespace {

// Rows of one table; the last row counts the others, which are in the record.
constexpr size_t kRows = 12;

using Words = std::vector<std::string>;

struct Site {
    Words cells;
    std::int64_t count = 0;
};

// A section of the report.
struct Section {
    std::string_view noun, nouns;
    std::string_view did;  // "24 requests redirected at 5 places"
    std::vector<std::string_view> kinds;
    bool devices = false;     // whether its events have a requested and an actual device
    bool with_message = false;  // only events that have one
};
const std::array<Section, 7> kSections{{
    {"request", "requests", "redirected", {"redirect", "fold", "override"}, true},
    {"call", "calls", "fell back to the CPU", {"fallback"}},
    {"call", "calls", "refused", {"refusal"}},
    {"call", "calls", "refused, and computed on the CPU (--keep-going)", {"refusal"}, false, true},
    {"race", "races", "between CUDA streams (--sanitize)", {"race"}, false, true},
    {"call", "calls", "answered without effect", {"stub"}},
    {"question", "questions", "asked which system this is", {"platform"}},
}};

std::string shown_file(const std::string& file, const fs::path& cwd) {
    const fs::path below = fs::path(file).lexically_relative(cwd);
    return below.empty() || *below.begin() == ".." ? file : below.string();
}

std::string place(const parsers::Location& location, const fs::path& cwd) {
    if (location.file.empty()) return "(no Python frame)";
    return fmt::format("{}:{}", shown_file(location.file, cwd), location.line);
}

// Its first line, as far as it says what is refused.
std::string shortened(std::string_view message) {
    constexpr size_t kLongest = 120;
    message = message.substr(0, message.find('\n'));
    if (message.size() <= kLongest) return std::string(message);
    return std::string(message.substr(0, message.rfind(' ', kLongest))) + " …";
}

// A race's message names the other line by its full path.
std::string without_folder(std::string text, const fs::path& cwd) {
    const std::string folder = cwd.string() + "/";
    for (std::size_t at = 0; (at = text.find(folder, at)) != std::string::npos;)
        text.erase(at, folder.size());
    return text;
}

Words cells_of(const Section& section, const parsers::DeviceEvent& event, const fs::path& cwd) {
    if (event.kind == "race")
        return {printable(place(event.location, cwd)),
                printable(event.op + " " + without_folder(event.message, cwd))};
    if (section.with_message)
        return {printable(place(event.location, cwd)), shortened(printable(event.message))};
    if (!section.devices) return {printable(event.op), printable(place(event.location, cwd))};
    return {printable(event.kind), printable(event.op),
            printable(fmt::format("{} -> {}", event.from, event.to)),
            printable(place(event.location, cwd))};
}

// Sites of the section over all tests and processes, most frequent first.
std::vector<Site> sites_of(const Section& section, std::span<const parsers::DeviceEvent> events,
                           const fs::path& cwd) {
    std::map<Words, std::int64_t> counts;
    for (const auto& event : events)
        if (std::find(section.kinds.begin(), section.kinds.end(), event.kind) !=
                section.kinds.end() &&
            section.with_message == !event.message.empty())
            counts[cells_of(section, event, cwd)] += event.count;
    std::vector<Site> sites;
    for (const auto& [cells, count] : counts) sites.push_back({cells, count});
    std::stable_sort(sites.begin(), sites.end(),
                     [](const Site& a, const Site& b) { return a.count > b.count; });
    return sites;
}

std::int64_t sum_of(std::span<const Site> sites) {
    std::int64_t sum = 0;
    for (const auto& site : sites) sum += site.count;
    return sum;
}

std::string counted_as(std::int64_t n, std::string_view one, std::string_view many) {
    return fmt::format("{} {}", n, n == 1 ? one : many);
}

std::string table(std::span<const Site> sites) {
    const auto rows = sites.first(std::min(kRows, sites.size()));
    std::vector<size_t> widths;
    for (const auto& site : rows) {
        widths.resize(site.cells.size());
        for (size_t i = 0; i < site.cells.size(); ++i)
            widths[i] = std::max(widths[i], site.cells[i].size());
    }
    std::string text;
    for (const auto& site : rows) {
        std::string line = fmt::format("{:>10}", site.count);
        for (size_t i = 0; i < site.cells.size(); ++i)
            line +=
                fmt::format("  {:<{}}", site.cells[i], i + 1 < site.cells.size() ? widths[i] : 0);
        text += line + "\n";
    }
    if (const auto left = sites.subspan(rows.size()); !left.empty())
        text += fmt::format(
            "{:>10}  at {} not shown here\n", sum_of(left),
            counted_as(static_cast<std::int64_t>(left.size()), "more place", "more places"));
    return text;
}

// Its lines; none without collectives.
std::string collective_report(const ProgramRun& run, const parsers::DevicesResult& recorded) {
    analysis::CollectiveSums sums;
    sums.add(recorded.collectives, recorded.optimizer_steps);
    const auto figures = sums.figures();
    if (figures.calls == 0) return {};
    std::vector<Site> sites;
    for (const auto& site : figures.sites)
        sites.push_back(
            {{printable(site.op), format_size(static_cast<std::uint64_t>(site.bytes)),
              printable(fmt::format("group {} ({})", site.group, counted(site.ranks, "rank"))),
              printable(place(site.location, run.cwd))},
             site.count});
    return fmt::format("runner: collectives: {}\n{}runner: {}\n",
                       analysis::describe_collectives(figures), table(sites),
                       analysis::describe_ring(figures, run.link));
}

// Why nothing was recorded; empty: something was.
std::string nothing_seen(const ProgramRun& run, const parsers::DevicesResult& recorded) {
    if (!run.unwatched.empty()) return run.unwatched;
    const auto processes =
        counted_as(static_cast<std::int64_t>(recorded.watched), "process", "processes");
    if (recorded.watched == 0)
        return "no Python process loaded the shim (-E, -I and -S prevent it)";
    if (recorded.with_torch == 0) return fmt::format("torch was not imported ({})", processes);
    return {};
}

// The kernels that ran on a simulated device; empty: none is simulated.
std::string describe_kernels(const parsers::DevicesResult& recorded) {
    const std::string& device = recorded.shim->simulated;
    if (device.empty()) return {};
    std::int64_t kernels = 0;
    for (const auto& count : recorded.kernels)
        if (count.device == device) kernels += count.count;
    if (kernels > 0)
        return fmt::format("{} ran on {} (simulated)", counted_as(kernels, "kernel", "kernels"),
                           device);
    const bool refused = std::any_of(recorded.events.begin(), recorded.events.end(),
                                     [](const auto& event) { return event.kind == "refusal"; });
    if (refused) return fmt::format("no kernel ran on {} (simulated)", device);
    return fmt::format(
        "NO KERNEL RAN ON THE SIMULATED DEVICE {}: this says nothing about it; --default-device "
        "puts "
        "tensors there for which the code names no device",
        device);
}

std::string describe_shim(const ProgramRun& run, const parsers::DevicesResult& recorded) {
    const parsers::ShimSession& shim = *recorded.shim;
    return fmt::format(
        "shim {}, host {}, torch {} of {}; {} recorded, {} with torch", describe_policy(shim.mode),
        shim.simulated.empty() ? shim.host : shim.simulated + " (simulated)", shim.torch,
        run.python, counted_as(static_cast<std::int64_t>(recorded.watched), "process", "processes"),
        recorded.with_torch);
}

}  // namespace

std::string program_report(const ProgramRun& run, const parsers::DevicesResult& recorded) {
    std::string text;
    const auto say = [&](const std::string& line) {
        text += fmt::format("runner: {}\n", printable(line));
    };
    say(fmt::format("{}: {} ({})", run.command, describe(run.end), format_duration(run.took)));
    if (const auto why = nothing_seen(run, recorded); !why.empty()) {
        say("nothing was redirected: " + why);
    } else {
        say(describe_shim(run, recorded));
        if (const auto kernels = describe_kernels(recorded); !kernels.empty()) say(kernels);
        for (const auto& section : kSections) {
            const auto sites = sites_of(section, recorded.events, run.cwd);
            if (sites.empty() && &section != kSections.begin()) continue;
            say(fmt::format(
                "{} {}{}", counted_as(sum_of(sites), section.noun, section.nouns), section.did,
                sites.empty()
                    ? ""
                    : fmt::format(" at {}", counted_as(static_cast<std::int64_t>(sites.size()),
                                                       "place", "places"))));
            text += table(sites);
        }
        text += collective_report(run, recorded);
    }
    const bool signaled = run.end.kind == ProcessEnd::Kind::signaled;
    const bool ranks_may_be_killed = run.end.code != 0 && !recorded.collectives.empty();
    if (recorded.with_torch > 0 && (signaled || ranks_may_be_killed))
        say("a process killed by a signal loses the events that it had not written yet");
    for (const auto& diagnostic : recorded.diagnostics)
        say(fmt::format("record, byte {}: {}", diagnostic.offset, diagnostic.message));
    if (!run.scan.empty()) say(run.scan);
    if (!run.record.empty()) {
        say("record: " + run.record.string());
        if (recorded.with_torch > 0)
            say(fmt::format("`runner scan . --record {}` lists {}",
                            shell_quoted(run.record.string()),
                            run.scan.empty() ? "what else names CUDA" : "them, and what to write"));
    }
    return text;
}

}  // namespace compat::display
