#include "runner/cli/command_line.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <re2/re2.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "runner/base/files/fs.h"
#include "runner/base/names.h"
#include "runner/base/nearest.h"
#include "runner/base/text.h"
#include "runner/cli/commands.h"
#include "runner/cli/options/help_format.h"
#include "runner/display/output.h"
#include "runner/prepare/share.h"

namespace compat::cli {

namespace {

// Null: no command has this name.
const CommandRow* find_command(const std::string& word) {
    const auto row = std::find_if(kCommands.begin(), kCommands.end(),
                                  [&](const CommandRow& r) { return r.name == word; });
    return row == kCommands.end() ? nullptr : &*row;
}

// `runner SUITE …` means `runner run SUITE …`. A suite folder with a command's name is written
// ./list.
std::vector<std::string> with_command(int argc, char** argv) {
    std::vector<std::string> words(argv + 1, argv + argc);
    if (!words.empty() && words[0] == "help") {
        words.erase(words.begin());
        if (words.empty() || find_command(words[0])) words.emplace_back("--help");
        return words;
    }
    const bool about =
        !words.empty() && (words[0] == "-h" || words[0] == "--help" || words[0] == "--version");
    if (!words.empty() && !find_command(words[0]) && !about) words.insert(words.begin(), "run");
    return words;
}

// Removes and returns what follows the first "--", if the command passes it on.
std::vector<std::string> take_passed_on(std::vector<std::string>& words) {
    if (words.empty()) return {};
    const CommandRow* row = find_command(words.front());
    if (!row || !row->make().passes_on) return {};
    const auto dashes = std::find(words.begin(), words.end(), "--");
    if (dashes == words.end()) return {};
    std::vector<std::string> rest(dashes + 1, words.end());
    words.erase(dashes, words.end());
    return rest;
}

// In the help.
std::string_view value_name(const config::SettingRow& row) {
    switch (row.type) {
        case config::Type::number:
            return "N";
        case config::Type::duration:
            return "TIME";
        case config::Type::size:
            return "SIZE";
        case config::Type::device:
            return "DEVICE";
        case config::Type::fraction:
        case config::Type::amount:
            return "NUMBER";
        case config::Type::path:
            return "PATH";
        case config::Type::program:
            return "PROGRAM";
        case config::Type::text:
            return "NAME";
        case config::Type::words:
        case config::Type::on_off:
            return row.allowed;
    }
    return "";
}

// The SUITE argument of the chosen command; empty: none.
std::string suite_of(const CLI::App& app) {
    if (const CLI::Option* suite = app.get_option_no_throw("SUITE"); suite && suite->count() > 0)
        return suite->results().front();
    for (const CLI::App* sub : app.get_subcommands())
        if (std::string suite = suite_of(*sub); !suite.empty()) return suite;
    return {};
}

// An error if the line's first word is near a command's name and no suite.
std::optional<std::string> refuse_command(const std::vector<std::string>& words) {
    if (words.size() > 1 && words[0] == "help" && !find_command(words[1])) {
        std::vector<std::string> known;
        for (const CommandRow& row : kCommands) known.emplace_back(row.name);
        std::ranges::copy(help_topics(), std::back_inserter(known));
        const std::string guess = did_you_mean(nearest(words[1], known, 1));
        return fmt::format("no command and no topic is named \"{}\": {}", words[1],
                           guess.empty() ? "`runner help` lists them" : guess);
    }
    if (words.empty() || words[0] == "help" || find_command(words[0]) ||
        words[0].find_first_of("-/.~") == 0)
        return std::nullopt;
    const auto share = prepare::find_share();
    std::error_code error;
    const fs::path suite = share ? prepare::find_suite(words[0], *share) : fs::path(words[0]);
    if (fs::exists(suite, error)) return std::nullopt;
    std::vector<std::string> commands;
    for (const CommandRow& row : kCommands) commands.emplace_back(row.name);
    const std::string guess = did_you_mean(nearest(words[0], commands, 1));
    if (guess.empty()) return std::nullopt;
    return fmt::format("no command and no suite is named \"{}\": {}", words[0], guess);
}

struct RemovedOption {
    std::string_view command, option, instead;
};
constexpr std::array<RemovedOption, 2> kRemovedOptions{
    {{"scan", "--verify",
      "write a patch with `scan --fix --patch FILE`, run the tests before and after `git apply "
      "FILE`, and ask `runner compare` what changed"},
     {"doctor", "--on",
      "\"Before the first run\" in docs/guide/slurm.md checks a cluster with `srun`"}}};

// One sentence with advice.
std::string describe_parse_error(const CLI::App& app, const CLI::ParseError& error) {
    const CLI::App* command = &app;
    std::string path = "runner";
    for (; !command->get_subcommands().empty(); path += " " + command->get_name())
        command = command->get_subcommands().front();
    const std::string advice = fmt::format("`{} --help` lists the options", path);
    if (dynamic_cast<const CLI::ValidationError*>(&error)) return error.what();
    std::string name, other;
    // "--shard: 1 required I/N missing"
    static const RE2 no_value("(.*): \\d+ required (.*) missing");
    if (dynamic_cast<const CLI::ArgumentMismatch*>(&error) &&
        RE2::FullMatch(error.what(), no_value, &name, &other))
        return fmt::format("{} needs a value, {}: {}", name, other, advice);
    // "SUITE excludes --plan"
    static const RE2 excludes("(.*) excludes (.*)");
    if (dynamic_cast<const CLI::ExcludesError*>(&error) &&
        RE2::FullMatch(error.what(), excludes, &name, &other))
        return fmt::format("{} and {} exclude each other: {}", other, name, advice);
    const auto extras = app.remaining(true);
    if (extras.empty() && command->get_require_subcommand_min() > 0) {
        std::string names;
        for (const CLI::App* one : command->get_subcommands(nullptr))
            names += (names.empty() ? "" : " or ") + fmt::format("`{}`", one->get_name());
        return fmt::format("{} needs a command: name {}", path, names);
    }
    if (extras.empty()) return fmt::format("{}: {}", error.what(), advice);
    const auto dashed = std::find_if(extras.begin(), extras.end(),
                                     [](const auto& word) { return word.starts_with('-'); });
    if (dashed == extras.end()) {
        std::vector<std::string> commands;
        for (const CLI::App* one : command->get_subcommands(nullptr))
            commands.push_back(one->get_name());
        const std::string guess = did_you_mean(nearest(extras.front(), commands, 1));
        return fmt::format("unexpected argument \"{}\": {}", extras.front(),
                           guess.empty() ? advice : guess);
    }
    const std::string option = dashed->substr(0, dashed->find('='));
    for (const RemovedOption& row : kRemovedOptions)
        if (option == row.option && command->get_name() == row.command)
            return fmt::format("{} was removed: {}", option, row.instead);
    std::vector<std::string> known;
    for (const CLI::Option* row : command->get_options())
        for (const std::string& name : row->get_lnames()) known.push_back("--" + name);
    const std::string guess = did_you_mean(nearest(option, known, 1));
    return fmt::format("unknown option {}: {}", option, guess.empty() ? advice : guess);
}

}  // namespace

void add_settings(CLI::App& app, const std::vector<Setting>& settings, config::Flags& flags,
                  bool shows_defaults) {
    for (const auto& row : config::kSettings) {
        if (std::find(settings.begin(), settings.end(), row.setting) == settings.end()) continue;
        std::string help(row.help);
        if (row.type == config::Type::number)
            help += fmt::format(" ({} to {})", row.least, row.most);
        if (row.type == config::Type::duration) help += " (90s, 30m, 1h30m)";
        if (row.type == config::Type::size) help += " (8G, 512M)";
        if (const auto standard = row.fixed.empty() ? row.computed : row.fixed;
            shows_defaults && !standard.empty())
            help += fmt::format(" [{}]", standard);
        if (config::is_switch(row)) {
            const std::string flag(config::long_flag(row));
            auto* const option = app.add_flag_function(
                fmt::format("{},!--no-{}", flag, flag.substr(2)),
                [&flags, &row](std::int64_t count) {
                    flags[row.setting] = count > 0 ? "on" : "off";
                },
                std::string(row.help));
            list_under(row.heading, {option});
            continue;
        }
        auto* const option = app.add_option_function<std::string>(
            std::string(row.flag),
            [&flags, &row](const std::string& text) {
                if (const auto refused = config::refuse(row, text))
                    throw CLI::ValidationError(
                        std::string(config::long_flag(row)),
                        fmt::format("{}: {}", refused->message, refused->advice));
                flags[row.setting] = text;
            },
            help);
        option->type_name(std::string(value_name(row)));
        list_under(row.heading, {option});
    }
}

void add_verbosity(CLI::App& app, int& verbosity) {
    auto* const quiet = app.add_flag_callback(
        "-q,--quiet", [&verbosity] { verbosity = -1; }, "print only the summary");
    auto* const verbose = app.add_flag_callback(
        "-v,--verbose", [&verbosity] { verbosity = verbosity == 0 ? 1 : verbosity; },
        "also print skips, further attempts, and all failures of a module");
    list_under(config::Heading::output, {quiet, verbose});
}

namespace {

struct Added {
    std::string_view name;
    CLI::App* app;
    Command command;
    Action action;
};

std::vector<Added> add_commands(CLI::App& app, config::Invocation& invocation) {
    app.set_help_flag("-h,--help", "print this help");
    app.set_version_flag("--version", fmt::format("runner {}", kVersion), "print the version");
    std::vector<Added> added;
    for (const CommandRow& row : kCommands) {
        Command command = row.make();
        CLI::App* sub = app.add_subcommand(std::string(row.name), std::string(command.help));
        Action action = command.add(*sub, invocation);
        add_settings(*sub, command.settings, invocation.flags, command.shows_defaults);
        if (!command.examples.empty()) sub->footer(std::string(command.examples));
        sub->group("Commands");
        added.push_back({row.name, sub, std::move(command), std::move(action)});
    }
    return added;
}

int usage_error(std::string_view message) {
    display::print(stderr, "runner: {}\n", printable(message));
    return static_cast<int>(ExitCode::usage);
}

std::string footer(const std::vector<std::string>& topics) {
    return fmt::format(
        "`runner SUITE [TARGET…]` is short for `runner run SUITE [TARGET…]`.\n"
        "`runner help COMMAND` lists a command's options, `runner help TOPIC` those of a\n"
        "run about one topic: {},\n{}.\n"
        "SUITE is a shipped suite's name, a folder with a suite.json, or a project's\n"
        "folder. TARGET is a folder, file, glob or test in it. RUN is a stored run's id,\n"
        "latest, latest~1 or SUITE@latest.\n"
        "Exit codes: 0 as expected, 1 unexpected results, 2 usage, suite or environment,\n"
        "3 test counts do not add up, 4 the runner could not work (disk, database,\n"
        "process), 5 no test selected, 130 interrupted.",
        fmt::join(topics.begin(), topics.begin() + 5, ", "),
        fmt::join(topics.begin() + 5, topics.end(), ", "));
}

}  // namespace

void describe_commands(CLI::App& app, config::Invocation& invocation) {
    static_cast<void>(add_commands(app, invocation));
}

std::variant<Parsed, int> parse_command_line(int argc, char** argv) {
    CLI::App app("Run a project's tests with device redirection and report what works.", "runner");
    app.formatter(std::make_shared<HelpFormat>());
    app.require_subcommand(1);

    Parsed parsed;
    parsed.invocation = std::make_unique<config::Invocation>();
    config::Invocation& invocation = *parsed.invocation;
    invocation.argv.assign(argv, argv + argc);
    std::vector<Added> added = add_commands(app, invocation);
    const auto topics = help_topics();
    app.footer(footer(topics));  // commands that are added later would inherit it
    if (argc == 1) {
        display::print(stderr, "{}", app.help());
        return static_cast<int>(ExitCode::usage);
    }
    const bool asks_help = argc > 2 && argv[1] == std::string_view("help");
    if (const auto topic = std::ranges::find(topics, asks_help ? argv[2] : "");
        topic != topics.end()) {
        const auto heading = config::kHeadings[1 + (topic - topics.begin())];
        display::print("{}", options_under(*app.get_subcommand("run"), heading));
        return static_cast<int>(ExitCode::ok);
    }
    if (const auto refused = refuse_command({argv + 1, argv + argc})) return usage_error(*refused);
    try {
        auto words = with_command(argc, argv);
        invocation.passed_on = take_passed_on(words);
        std::reverse(words.begin(), words.end());
        app.parse(words);
    } catch (const CLI::ParseError& error) {
        if (error.get_exit_code() == 0) return app.exit(error);  // help or version
        return usage_error(describe_parse_error(app, error));
    }
    const auto chosen = std::find_if(added.begin(), added.end(),
                                     [](const Added& one) { return one.app->parsed(); });
    parsed.command = chosen->name;
    invocation.suite = suite_of(*chosen->app);
    parsed.action = std::move(chosen->action);
    const auto& takes = chosen->command.settings;
    parsed.json_progress =
        std::find(takes.begin(), takes.end(), Setting::progress) != takes.end() &&
        config::text_before_suite(invocation, Setting::progress) == "json";
    return parsed;
}

}  // namespace compat::cli
