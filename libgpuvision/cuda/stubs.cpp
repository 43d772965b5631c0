// SPDX-License-Identifier: BSD-2-Clause
// The symbols of cuda/ in a build without nvcc.
#include "core/backends.hpp"
#include "core/ccl.hpp"
#include "core/erode.hpp"
#include "core/error.hpp"
#include "core/graphcut.hpp"
#include "core/kmeans.hpp"
#include "core/match.hpp"
#include "core/segment.hpp"
#include "core/sift.hpp"

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

std::unique_ptr<Ccl> make_ccl(std::shared_ptr<Context>) {
    refuse();
}

std::unique_ptr<Erode> make_erode(std::shared_ptr<Context>) {
    refuse();
}

std::unique_ptr<Graphcut> make_graphcut(std::shared_ptr<Context>) {
    refuse();
}

std::unique_ptr<Kmeans> make_kmeans(std::shared_ptr<Context>) {
    refuse();
}

std::unique_ptr<Match> make_match(std::shared_ptr<Context>) {
    refuse();
}

std::unique_ptr<Segment> make_segment(std::shared_ptr<Context>) {
    refuse();
}

std::unique_ptr<Sift> make_sift(std::shared_ptr<Context>) {
    refuse();
}

} // namespace gpv::cuda
