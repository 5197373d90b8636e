// Mangled names of the functions of torch that replace_imports (runtime/imports.h) replaces. Names
// with types of the standard library depend on which one torch was compiled with: libstdc++ on
// Linux, libc++ on macOS. tests/cross looks them up in torch's macOS wheels.
#pragma once

#include <string_view>
#include <version>

namespace compat::shim {

struct TorchSymbols {
    std::string_view device_parser;      // c10::Device::Device(const std::string&)
    std::string_view device_printer;     // std::string c10::Device::str() const
    std::string_view out_check;          // torch::utils::check_out_type_matches
    std::string_view default_generator;  // at::detail::getDefaultCPUGenerator
    std::string_view default_device;     // torch::tensors::get_default_device
};

inline constexpr TorchSymbols kWithLibstdcxx{
    "_ZN3c106DeviceC1ERKNSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE",
    "_ZNK3c106Device3strB5cxx11Ev",
    "_ZN5torch5utils22check_out_type_matchesERKN2at6TensorESt8optionalIN3c1010ScalarTypeEEb"
    "S5_INS6_6LayoutEES5_INS6_6DeviceEEb",
    "_ZN2at6detail22getDefaultCPUGeneratorEv",
    "_ZN5torch7tensors18get_default_deviceEv"};

inline constexpr TorchSymbols kWithLibcxx{
    "_ZN3c106DeviceC1ERKNSt3__112basic_stringIcNS1_11char_traitsIcEENS1_9allocatorIcEEEE",
    "_ZNK3c106Device3strEv",
    "_ZN5torch5utils22check_out_type_matchesERKN2at6TensorENSt3__18optionalIN3c1010ScalarTypeEEEb"
    "NS6_INS7_6LayoutEEENS6_INS7_6DeviceEEEb",
    "_ZN2at6detail22getDefaultCPUGeneratorEv",
    "_ZN5torch7tensors18get_default_deviceEv"};

#ifdef _LIBCPP_VERSION
inline constexpr const TorchSymbols& kTorchSymbols = kWithLibcxx;
#else
inline constexpr const TorchSymbols& kTorchSymbols = kWithLibstdcxx;
#endif

}  // namespace compat::shim
