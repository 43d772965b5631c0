// SPDX-License-Identifier: BSD-2-Clause
// The binding gpuvision.hpp with images and buffers in CUDA memory, on a stream, beside the CPU.
#include "gpuvision.hpp"

#include <cstdio>
#include <vector>

#include <cuda_runtime_api.h>

namespace {

constexpr int width = 161, height = 97, skipped = 77;
using Bytes = std::vector<std::uint8_t>;

gpv::Context context_on(gpv_backend backend) {
    gpv::ContextParams params;
    params.backend = backend;
    return gpv::Context(params);
}

Bytes noise() {
    Bytes pixels(width * height);
    std::uint32_t state = 1;
    for (std::uint8_t &level : pixels)
        level = static_cast<std::uint8_t>((state = state * 1664525 + 1013904223) >> 24);
    return pixels;
}

// So many elements of T on the device.
template <class T>
class OnDevice {
  public:
    explicit OnDevice(const std::vector<T> &values) : count_(values.size()) {
        ok_ = cudaMalloc(&memory_, bytes()) == cudaSuccess &&
              cudaMemcpy(memory_, values.data(), bytes(), cudaMemcpyHostToDevice) == cudaSuccess;
    }
    explicit OnDevice(std::size_t count) : OnDevice(std::vector<T>(count)) {}
    OnDevice(const OnDevice &) = delete;
    ~OnDevice() { cudaFree(memory_); }

    gpv::Image view() { return gpv::cuda_view(GPV_FORMAT_GRAY8, width, height, memory_); }
    gpv::Buffer buffer() { return gpv::cuda_buffer(memory_, bytes()); }
    // Empty if the device cannot be read.
    std::vector<T> values() const {
        std::vector<T> values(count_);
        if (!ok_ || cudaMemcpy(values.data(), memory_, bytes(), cudaMemcpyDeviceToHost))
            values.clear();
        return values;
    }

  private:
    std::size_t bytes() const { return count_ * sizeof(T); }

    std::size_t count_;
    void *memory_ = nullptr;
    bool ok_;
};

bool report(const char *name, bool same) {
    std::printf("%s: %s\n", name, same ? "ok" : "differs");
    return same;
}

bool test_erode(const gpv::Context &cpu, gpv::Context &cuda, gpv_stream stream) {
    const Bytes pixels = noise();
    Bytes want(pixels.size()), host(pixels.size());
    const gpv::ConstImage picture = gpv::view(GPV_FORMAT_GRAY8, width, height, pixels.data());
    gpv::ErodeParams params;
    params.radius = 2;
    gpv::Erode reference(cpu, params), erode(cuda, params);
    reference.run(picture, gpv::view(GPV_FORMAT_GRAY8, width, height, want.data()));
    reference.wait();

    OnDevice<std::uint8_t> src(pixels), dst(pixels.size());
    erode.run(src.view(), dst.view(), stream);
    cuda.stream_sync(stream);
    erode.run(picture, gpv::view(GPV_FORMAT_GRAY8, width, height, host.data()), stream);
    erode.wait();
    const bool same = report("erode", dst.values() == want);
    return report("erode in host memory", host == want) && same;
}

bool test_kmeans(const gpv::Context &cpu, const gpv::Context &cuda, gpv_stream stream) {
    const Bytes pixels = noise();
    Bytes want(pixels.size());
    std::vector<gpv::Kmeans::Centroid> centroids(3);
    gpv::KmeansParams params;
    params.clusters = 3;
    gpv::Kmeans reference(cpu, params), kmeans(cuda, params);
    const gpv::Image labels = gpv::view(GPV_FORMAT_GRAY8, width, height, want.data());
    const gpv::Buffer means(centroids);
    reference.run(gpv::view(GPV_FORMAT_GRAY8, width, height, pixels.data()),
                  {.labels = &labels, .centroids = &means});
    reference.wait();

    OnDevice<std::uint8_t> src(pixels), numbers(pixels.size());
    OnDevice<gpv::Kmeans::Centroid> found(3);
    const gpv::Image view = numbers.view();
    const gpv::Buffer buffer = found.buffer();
    kmeans.run(src.view(), {.labels = &view, .centroids = &buffer}, stream);
    const gpv::KmeansResult result = kmeans.wait();
    return report("kmeans",
                  result.clusters == 3 && numbers.values() == want && found.values() == centroids);
}

} // namespace

int main() {
    cudaStream_t stream = nullptr;
    if (cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) != cudaSuccess) {
        std::printf("skipped: there is no CUDA device\n");
        return skipped;
    }
    try {
        const gpv::Context cpu = context_on(GPV_BACKEND_CPU);
        gpv::Context cuda = context_on(GPV_BACKEND_CUDA);
        const bool eroded = test_erode(cpu, cuda, stream);
        const bool clustered = test_kmeans(cpu, cuda, stream);
        return eroded && clustered ? 0 : 1;
    } catch (const std::exception &error) {
        std::fprintf(stderr, "unexpected: %s\n", error.what());
        return 1;
    }
}
