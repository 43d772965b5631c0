// SPDX-License-Identifier: BSD-2-Clause
// The symbols of cuda/ in a build without nvcc.
#include "core/backends.hpp"
#include "core/error.hpp"
#include "core/stems.hpp"

namespace gpv::cuda {
namespace {

[[noreturn]] void refuse() {
    throw Error(Status::unsupported,
                "backend is GPV_BACKEND_CUDA, but this library was built without nvcc");
}

} // namespace

bool available(int) {
    return false;
}

std::unique_ptr<Device> make_device(int) {
    refuse();
}

#define REFUSE(stem, Name)                                                                         \
    std::unique_ptr<Name> make_##stem(std::shared_ptr<Context>) {                                  \
        refuse();                                                                                  \
    }
GPV_STEMS(REFUSE)
#undef REFUSE

} // namespace gpv::cuda
