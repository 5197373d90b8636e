// Where a request for a device goes: (requested, host, override, mode) -> actual, as a pure
// function. It knows no torch, no Python and no global state; redirect/ calls it and acts on the
// answer. The table is in policy.cc and in docs/reference/shim.md.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>

#include "policy/device_kind.h"

namespace compat::shim {

enum class Mode { missing, full };
// `accelerator`: any other that torch knows, such as xpu or npu.
enum class Host { mps, cuda, accelerator, cpu };

// The device that code asked for. `integer` is a bare device number, which means CUDA in CUDA code.
// `toggle` is "cpu:-1", which turns the CPU override on and off.
enum class Requested { none, cpu, toggle, mps, cuda, integer, meta, other };

// Index -1: none was given.
struct Request {
    Requested kind = Requested::none;
    int index = -1;
};

// Where data can be. `unchanged` keeps the request, index included.
enum class Place { unchanged, cpu, mps, cuda, accelerator };

// How the answer differs from the request; names as in the record (docs/reference/file-formats.md).
enum class Change { none, redirect, fold, override_ };

struct Answer {
    Place place = Place::unchanged;
    int index = -1;  // only if place is not `unchanged`
    Change change = Change::none;
    bool override_on = false;  // after this request
};

inline constexpr std::array kModes{Mode::missing, Mode::full};
inline constexpr std::array kHosts{Host::mps, Host::cuda, Host::accelerator, Host::cpu};
inline constexpr std::array kRequested{Requested::none, Requested::cpu,  Requested::toggle,
                                       Requested::mps,  Requested::cuda, Requested::integer,
                                       Requested::meta, Requested::other};

[[nodiscard]] Answer resolve(Request request, Host host, bool override_on, Mode mode) noexcept;

[[nodiscard]] std::string_view name_of(Mode mode) noexcept;
[[nodiscard]] std::string_view name_of(Host host) noexcept;
// The last row of the table for any other accelerator.
[[nodiscard]] const DeviceKind& kind_of(Host host) noexcept;
[[nodiscard]] std::string_view name_of(Requested kind) noexcept;
[[nodiscard]] std::string_view name_of(Change change) noexcept;

[[nodiscard]] std::optional<Mode> parse_mode(std::string_view text) noexcept;
[[nodiscard]] std::optional<Host> parse_host(std::string_view text) noexcept;

}  // namespace compat::shim
