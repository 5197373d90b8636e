#include "runner/hub/hub.h"

#include <array>

namespace compat::hub {

namespace {

constexpr std::array<std::pair<Mode, std::string_view>, 4> kModes{{
    {Mode::off, "off"},
    {Mode::replay, "replay"},
    {Mode::record, "record"},
    {Mode::generate, "generate"},
}};

}  // namespace

std::string_view name_of(Mode mode) { return kModes.at(static_cast<std::size_t>(mode)).second; }

std::optional<Mode> mode_named(std::string_view name) {
    for (const auto& [mode, text] : kModes)
        if (text == name) return mode;
    return {};
}

class Hub::Impl {};

Hub::Hub(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Hub::~Hub() = default;

Expected<std::unique_ptr<Hub>> Hub::start(Settings) {
    return fail(ErrorKind::environment, "the hub is not built yet");
}
std::uint16_t Hub::port() const { return 0; }
std::string Hub::endpoint() const { return {}; }
std::shared_ptr<void> Hub::listen_also(Fd) { return {}; }
Summary Hub::stop() { return {}; }

}  // namespace compat::hub
