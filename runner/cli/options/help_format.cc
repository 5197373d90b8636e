#include "runner/cli/options/help_format.h"

#include "runner/display/columns.h"

namespace compat::cli {

namespace {

constexpr std::size_t kTextColumn = 26;
constexpr std::size_t kManyOptions = 20;

}  // namespace

std::string help_entry(std::string_view name, std::string_view text) {
    std::string line = "  " + std::string(name);
    const std::size_t columns = display::columns_of(line);
    line += columns + 2 > kTextColumn ? "\n" + std::string(kTextColumn, ' ')
                                      : std::string(kTextColumn - columns, ' ');
    const std::string blank(kTextColumn, ' ');
    return line + display::wrapped(blank + std::string(text), kHelpColumns, kTextColumn).substr(kTextColumn);
}

std::string topic_of(std::string_view heading) {
    std::string topic(heading.substr(0, heading.find(' ')));
    topic.front() = static_cast<char>(topic.front() - 'A' + 'a');
    return topic;
}

std::vector<std::string> help_topics() {
    std::vector<std::string> topics;
    for (std::size_t i = 1; i < config::kHeadings.size(); ++i)
        topics.push_back(topic_of(config::kHeadings[i]));
    return topics;
}

std::string options_under(const CLI::App& app, std::string_view heading) {
    const auto options = app.get_options([&](const CLI::Option* option) {
        return option->nonpositional() && option->get_group() == heading;
    });
    if (options.empty()) return {};
    return HelpFormat().make_group(std::string(heading), false, options);
}

HelpFormat::HelpFormat() {
    label("Positionals", "Arguments");
    label("SUBCOMMAND", "COMMAND");
}

std::string HelpFormat::make_help(const CLI::App* app, std::string name,
                                  CLI::AppFormatMode mode) const {
    const auto all = app->get_options([](const CLI::Option* option) {
        return option->nonpositional() && !option->get_group().empty();
    });
    std::string options;
    if (all.size() >= kManyOptions)
        for (const std::string_view heading : config::kHeadings)
            options += options_under(*app, heading);
    else if (!all.empty())
        options = make_group("Options", false, all);
    return make_description(app) + make_usage(app, std::move(name)) + make_positionals(app) +
           options + make_subcommands(app, mode) + "\n" + make_footer(app);
}

std::string HelpFormat::make_description(const CLI::App* app) const {
    return display::wrapped(app->get_description(), kHelpColumns, 0);
}

std::string HelpFormat::make_option(const CLI::Option* option, bool is_positional) const {
    std::string name = make_option_name(option, is_positional);
    // CLI11 marks the name that turns a flag off: --no-warm{false}.
    for (auto mark = name.find("{false}"); mark != std::string::npos; mark = name.find("{false}"))
        name.erase(mark, std::string_view("{false}").size());
    if (const auto comma = name.find(','); comma != std::string::npos) name.insert(comma + 1, " ");
    // CLI11 appends the bounds of checks after a colon; the description has them already.
    const std::string type = option->get_type_name();
    if (!is_positional && option->get_type_size() != 0 && !type.empty() && type.front() != ':')
        name += " " + type.substr(0, type.find(':'));
    std::string text = option->get_description();
    if (!option->get_default_str().empty()) text += " [" + option->get_default_str() + "]";
    return help_entry(name, text);
}

std::string HelpFormat::make_subcommand(const CLI::App* command) const {
    return help_entry(command->get_name(), command->get_description());
}

}  // namespace compat::cli
