// Chooses a device, moves tensors there, and recovers from device errors. Its argument names a file
// for the log. docs/guide/device-library.md explains each part.
#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <cstdint>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>
#include <vector>

#include "devices/device_safe.h"

using namespace compat::devices;

namespace {

std::string joined(const std::vector<std::string>& words) {
    std::string text;
    for (const auto& word : words) text += (text.empty() ? "" : ", ") + word;
    return text;
}

// A matrix product of two dtypes, which no device can do.
void mix_dtypes() {
    const auto input = at::ones({2, 2}, at::kDouble).set_requires_grad(true);
    const auto weight = at::ones({2, 2});
    std::vector<std::string> tried;
    const auto result =
        device_safe([&](Attempt& attempt) { return at::mm(attempt(input), attempt(weight)); },
                    {.name = "mix_dtypes", .tried = &tried});
    result.sum().backward();
    std::cout << "recovered: " << joined(tried) << "; gradient "
              << input.grad()[0][0].item<double>() << ", input still "
              << c10::toString(input.scalar_type()) << "\n";
}

// A batch that fits into no memory, until it is halved.
void run_a_large_batch() {
    std::vector<std::string> tried;
    const auto size = device_safe(
        [](Attempt& attempt) {
            const std::int64_t batch = attempt.batch(4);
            constexpr std::int64_t kTooMuch = std::int64_t{1} << 60;
            static_cast<void>(at::empty({batch > 2 ? kTooMuch : batch}));
            return batch;
        },
        {.name = "run_a_large_batch", .tried = &tried});
    std::cout << "recovered: " << joined(tried) << "; batches of " << size << "\n";
}

// A checkpoint that is incomplete until it is read for the third time.
void load_while_it_is_written() {
    const std::vector<char> whole = torch::jit::pickle_save(at::ones({2}));
    std::vector<std::string> tried;
    const int calls = device_safe(
        [&](Attempt& attempt) {
            static_cast<void>(attempt.map_location());  // pickle_load takes none
            const std::size_t written = attempt.number() < 3 ? whole.size() / 2 : whole.size();
            const std::vector<char> file(whole.begin(), whole.begin() + std::ptrdiff_t(written));
            static_cast<void>(torch::jit::pickle_load(file).toTensor());
            return attempt.number();
        },
        {.name = "load", .tried = &tried});
    std::cout << "recovered: " << joined(tried) << "; " << calls << " calls\n";
}

void raise_an_error_of_its_own() {
    try {
        device_safe([](Attempt&) { throw std::invalid_argument("an error of the program's own"); });
    } catch (const std::invalid_argument& error) {
        std::cout << "passed through: " << error.what() << "\n";
    }
}

void fail_for_good() {
    try {
        device_safe([](Attempt& attempt) {
            static_cast<void>(attempt.batch(2));
            static_cast<void>(at::empty({std::int64_t{1} << 60}));
        });
    } catch (const c10::Error& error) {
        std::string text = error.what_without_backtrace();
        for (char& c : text)
            if (c == '\n') c = ' ';
        std::cout << "gave up: " << text << "\n";
    }
}

}  // namespace

int main(int count, char** arguments) try {
    auto& manager = DeviceManager::instance();
    manager.log().enable();
    const Choice choice = manager.best();
    std::cout << "device: " << choice.device.device << " (" << choice.why << ")\n"
              << "dtype: " << manager.recommended_dtype().dtype << "\n"
              << "batch: " << manager.batch(8).size << "\n";
    const auto tensors = manager.ensure_device(std::vector{at::ones({2}), at::ones({3})});
    std::cout << "tensors are on " << tensors.front().device().str() << "\n";
    mix_dtypes();
    run_a_large_batch();
    load_while_it_is_written();
    raise_an_error_of_its_own();
    fail_for_good();
    if (count > 1) std::ofstream(arguments[1]) << manager.log().json_lines();
    return 0;
} catch (const SettingError& error) {
    std::cerr << error.what() << "\n";
    return 2;
}
