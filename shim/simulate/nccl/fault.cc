#include "simulate/nccl/fault.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <thread>
#include <utility>

namespace compat::shim::simulate {
namespace {

std::vector<Fault>& faults() {
    static auto* all = new std::vector<Fault>();  // threads may outlive statics
    return *all;
}

std::atomic<std::uint64_t> calls{0};

void announce(const Fault& fault, const Call& call, const std::string& what) {
    std::fprintf(stderr, "TORCHDEVICE_FAULT: rank %llu %s in its call %llu, %s %s\n",
                 static_cast<unsigned long long>(fault.rank), what.c_str(),
                 static_cast<unsigned long long>(fault.call), described(call).c_str(),
                 place(call).c_str());
    std::fflush(stderr);
}

[[noreturn]] void hang() {
    while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

}  // namespace

void set_faults(std::vector<Fault> all) { faults() = std::move(all); }

bool meet_fault(std::uint64_t rank, const Call& met) {
    if (faults().empty()) return false;
    const std::uint64_t call = ++calls;
    for (const Fault& fault : faults()) {
        if (fault.rank != rank || fault.call != call) continue;
        switch (fault.kind) {
            case Fault::Kind::exit:
                announce(fault, met, "exits");
                _exit(1);
            case Fault::Kind::hang:
                announce(fault, met, "hangs");
                hang();
            case Fault::Kind::slow:
                announce(fault, met, "waits for " + std::to_string(fault.delay.count()) + " ms");
                std::this_thread::sleep_for(fault.delay);
                break;
            case Fault::Kind::drop:
                announce(fault, met, "takes no part");
                return true;
        }
    }
    return false;
}

}  // namespace compat::shim::simulate
