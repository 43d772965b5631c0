// SPDX-License-Identifier: BSD-2-Clause
// Runs of SIFT, and pictures to run it on.
#pragma once

#include "device.hpp"
#include "samples.hpp"

#include <tbb/parallel_for.h>

namespace parity {

inline gpv_sift_params sift_params() {
    gpv_sift_params p;
    gpv_sift_params_init(&p, sizeof p);
    return p;
}

inline std::size_t number_bytes(const gpv_sift_params &p) {
    return p.descriptor_type == GPV_SIFT_DESCRIPTOR_TYPE_F32 ? 4 : 1;
}

inline std::size_t descriptor_bytes(const gpv_sift_params &p) {
    return GPV_SIFT_DESCRIPTOR_LENGTH * number_bytes(p);
}

/// Of a keypoint, counted from 0, the first of those that the parameters make.
inline int octave_of(const gpv_sift_keypoint &k, const gpv_sift_params &p) {
    return static_cast<int>((k.octave + (p.upsample ? 1 : 0)) & 255);
}

inline int layer_of(const gpv_sift_keypoint &k) {
    return k.octave >> 8 & 255;
}

/// Pixels of the picture in one of the octave.
inline double octave_pixel(int octave, const gpv_sift_params &p) {
    return std::ldexp(p.upsample ? 0.5 : 1.0, octave);
}

// ---- pictures -----------------------------------------------------------------------

/// Of a pixel, 0..255.
using Grey = std::function<int(int x, int y)>;

/// Gaussian, but for a hair: 16 tossed coins, of variance 4.
inline int gaussian_noise(std::uint32_t bits) {
    return __builtin_popcount(bits & 0xffff) - 8;
}

inline int grey_level(double value) {
    return std::clamp(static_cast<int>(std::floor(value + 0.5)), 0, 255);
}

/// RGB gets colours whose luma is near the grey level; chroma, alpha and the lower bits are noise.
inline void paint_grey(GuardedImage &image, const Grey &grey) {
    const Samples samples(image);
    // Of BGR the noise of B comes first: bounds were found on these very pictures.
    const gpv_format format = image.view()->format;
    const bool blue_first =
        format == GPV_FORMAT_BGR8 || format == GPV_FORMAT_BGRA8 || format == GPV_FORMAT_BGRX8;
    const auto byte_of = [=](int c) { return blue_first && c < 3 ? 2 - c : c; };
    for (int c = 0; c < samples.channels(); c++)
        tbb::parallel_for(0, samples.rows(c), [&, c](int row) {
            for (int i = 0; i < samples.columns(c); i++) {
                const std::uint32_t noise = hash(std::uint64_t(row) << 32 | i) >> 8 * byte_of(c);
                const int byte = static_cast<int>(noise & 255);
                const int tint = samples.grey() || samples.yuv() ? 0 : byte % 15 - 7;
                const int level = c == 3 || (c > 0 && samples.yuv())
                                      ? byte
                                      : std::clamp(grey(i, row) + tint, 0, 255);
                samples.set(c, i, row, samples.wide() ? level << 8 | byte : level);
            }
        });
}

inline GuardedImage grey_picture(int width, int height, const Grey &grey,
                                 gpv_format format = GPV_FORMAT_GRAY8) {
    GuardedImage image(format, width, height);
    paint_grey(image, grey);
    return image;
}

/// Light that varies smoothly, -512..511 at the corners of cells of side 2^level.
inline int light(std::uint64_t seed, int level, int x, int y) {
    const auto weight = [&](int at) {
        const int t = (at & ((1 << level) - 1)) << 8 >> level;
        return t * t * (768 - 2 * t) >> 16; // 0..256, smooth at both ends
    };
    const auto corner = [&](int right, int down) {
        const std::uint32_t bits = pixel_hash(seed << 8 | static_cast<std::uint64_t>(level),
                                              (x >> level) + right, (y >> level) + down);
        return static_cast<int>(bits & 1023) - 512;
    };
    const int u = weight(x), v = weight(y);
    const int upper = corner(0, 0) * (256 - u) + corner(1, 0) * u;
    const int lower = corner(0, 1) * (256 - u) + corner(1, 1) * u;
    return (upper * (256 - v) + lower * v) >> 16;
}

/// What a photograph is like, in integers alone: light that varies at all scales, things of many
/// sizes with edges in front of it, and noise of a standard deviation of 2. Places count in 256ths
/// of the pixels of one of 1920x1080, so that a larger photograph of it shows the same.
inline int photo_level(int x256, int y256, std::uint32_t noise) {
    const int x = x256 >> 8, y = y256 >> 8;
    int sum = 0;
    for (int level = 9; level >= 4; level--)
        sum += light(1, level, x, y) * (1 << level) / 16;
    int level = 118 + sum / 260;
    for (int size = 8; size >= 3; size--) { // a leaning oval in some cells of side 2^size
        const int cell = 1 << size;
        const std::uint32_t bits =
            pixel_hash(static_cast<std::uint64_t>(size), x >> size, y >> size);
        const std::uint32_t more = hash(bits);
        if (bits % (size > 3 ? 16 : 64) > 2)
            continue;
        const auto part = [&](std::uint32_t from, int shift) { // -1..1
            return (static_cast<int>(from >> shift & 255) - 128) / 128.0;
        };
        const double dx = (x256 / 256.0 - (x >> size << size)) / cell - 0.5 - 0.15 * part(bits, 3);
        const double dy = (y256 / 256.0 - (y >> size << size)) / cell - 0.5 - 0.15 * part(bits, 11);
        const double u = dx + 0.5 * part(more, 0) * dy, v = dy * (1.3 + 0.5 * part(more, 8));
        // An edge a pixel wide, as a lens makes it.
        const double inside =
            cell * (0.22 + 0.06 * part(more, 16) - std::sqrt(u * u + v * v)) + 0.5;
        level += static_cast<int>(std::clamp(inside, 0.0, 1.0) * 70 * part(bits, 19));
    }
    return std::clamp(level + gaussian_noise(noise), 0, 255);
}

inline GuardedImage photograph(int width, int height, gpv_format format = GPV_FORMAT_GRAY8) {
    const auto place = [](int at, int size, int of) { // the middle of a pixel
        return static_cast<int>((2 * std::int64_t{at} + 1) * of * 128 / size);
    };
    return grey_picture(
        width, height,
        [&](int x, int y) {
            return photo_level(place(x, width, 1920), place(y, height, 1080), pixel_hash(2, x, y));
        },
        format);
}

// ---- runs ---------------------------------------------------------------------------

/// Memory for what is written. Its other bytes are canaries.
class Values {
  public:
    explicit Values(std::size_t bytes, std::size_t offset = 0)
        : begin_(guard + offset), size_(bytes), bytes_(begin_ + bytes + guard, canary) {}

    std::vector<std::uint8_t> &bytes() { return bytes_; }
    std::size_t size() const { return size_; }
    const std::uint8_t *data() const { return &bytes_[begin_]; }
    std::uint8_t *data() { return &bytes_[begin_]; }
    /// The values in a copy of bytes().
    gpv_buffer view(std::uint8_t *bytes, gpv_memory memory = GPV_MEMORY_HOST) const {
        gpv_buffer view;
        gpv_buffer_init(&view, sizeof view);
        view.memory = memory;
        view.data = bytes + begin_;
        view.size = size_;
        return view;
    }
    template <class T>
    T at(std::size_t byte) const {
        T result;
        std::memcpy(&result, data() + byte, sizeof result);
        return result;
    }
    /// Whether nothing but the records may have been written.
    bool intact_but_for(std::size_t count, std::size_t record, std::size_t stride) const {
        std::vector<std::uint8_t> copy = bytes_;
        for (std::size_t i = 0; i < count; i++)
            std::fill_n(&copy[begin_ + i * stride], record, canary);
        return std::all_of(copy.begin(), copy.end(), [](auto byte) { return byte == canary; });
    }

  private:
    static constexpr std::size_t guard = 256;
    static constexpr std::uint8_t canary = 0xC5;
    std::size_t begin_, size_;
    std::vector<std::uint8_t> bytes_;
};

/// Of a picture with more extrema, or keypoints, than are kept: no keypoints.
enum class Overflow { never, always, perhaps };

/// What a run is to write.
struct Wish {
    int room = 20000; ///< keypoints; 0 = none
    bool descriptors = true, result = true;
    std::uint32_t stride = 0;
    bool on_device = false; ///< where the library computes there
    int offset = 0;         ///< of the buffers, a multiple of 4
    Overflow overflow = Overflow::never;

    std::size_t record() const { return stride ? stride : sizeof(gpv_sift_keypoint); }
};

/// What a run has found.
struct Features {
    int count = 0, dropped = 0;
    std::vector<gpv_sift_keypoint> keypoints;
    std::vector<std::uint8_t> descriptors;

    const std::uint8_t *descriptor(std::size_t i, const gpv_sift_params &p) const {
        return &descriptors[i * descriptor_bytes(p)];
    }
};

/// The same bytes.
inline bool same(const gpv_sift_keypoint &a, const gpv_sift_keypoint &b) {
    return std::memcmp(&a, &b, sizeof a) == 0;
}

inline std::string text_of(const gpv_sift_keypoint &k) {
    char text[160];
    std::snprintf(text, sizeof text, "(%.6f, %.6f) sigma %.6f angle %.5f response %.8g octave %x",
                  double(k.x), double(k.y), double(k.sigma), double(k.angle), double(k.response),
                  static_cast<unsigned>(k.octave));
    return text;
}

inline std::string text_of(const gpv_sift_params &p, const gpv_image &view) {
    char text[320];
    std::snprintf(text, sizeof text,
                  "%dx%d format %u, %s: max %d octaves %d layers %d contrast %.9g edge %.9g sigma "
                  "%.9g upsample %u upright %u root %u type %u",
                  view.width, view.height, view.format, place_of(view).c_str(), p.max_features,
                  p.octaves, p.octave_layers, double(p.contrast_threshold),
                  double(p.edge_threshold), double(p.sigma), p.upsample, p.upright, p.root_sift,
                  p.descriptor_type);
    return text;
}
inline std::string text_of(const gpv_sift_params &p, const GuardedImage &src) {
    return text_of(p, *src.view());
}

using SiftOp = Handle<gpv_sift_create, gpv_sift_destroy>;

/// Its runs write into memory with canaries, which it checks.
class Operator {
  public:
    explicit Operator(gpv_backend backend = GPV_BACKEND_CPU, Place place = Place::host,
                      std::uint64_t maximum = UINT64_MAX)
        : context_(backend, maximum), backend_(backend), place_(place) {}

    Features run(const gpv_sift_params &p, const GuardedImage &src,
                 const GuardedImage *mask = nullptr, const Wish &wish = {}) {
        set(p);
        const std::size_t record = wish.record(), room = static_cast<std::size_t>(wish.room);
        const std::size_t described =
            p.max_features ? std::min<std::size_t>(room, p.max_features) : room;
        const bool records = room > 0, descriptors = records && wish.descriptors;
        const std::size_t offset = static_cast<std::size_t>(wish.offset);
        // The last record needs no padding behind it.
        Values keypoints(records ? (room - 1) * record + sizeof(gpv_sift_keypoint) : 0, offset);
        Values numbers(described * descriptor_bytes(p), offset), found(sizeof(gpv_sift_result), 4);
        const std::vector<std::uint8_t> before = src.bytes();
        const Buffers to(*this,
                         {records ? &keypoints : nullptr, descriptors ? &numbers : nullptr,
                          wish.result ? &found : nullptr},
                         wish.on_device);
        require(gpv_sift_run(op_, nullptr, placed(src, src_), mask ? placed(*mask, mask_) : nullptr,
                             to[0], wish.stride, to[1], to[2]),
                context_, "gpv_sift_run");
        gpv_sift_result result;
        gpv_sift_result_init(&result, sizeof result);
        const gpv_status status = gpv_sift_wait(op_, &result);
        const std::string what = text_of(p, src);
        const bool overflow = wish.overflow == Overflow::always ||
                              (wish.overflow == Overflow::perhaps && status == GPV_ERR_TOO_SMALL);
        if (overflow)
            expect(status == GPV_ERR_TOO_SMALL && result.count == 0 && result.dropped > 65536,
                   "too many extrema are too many, " + what);
        else
            require(status, context_, "gpv_sift_wait");
        to.download();
        if (src.bytes() != before)
            fatal("the source was written: " + what);

        Features features{result.count, result.dropped, {}, {}};
        const std::size_t count = records ? static_cast<std::size_t>(result.count) : 0;
        expect(result.struct_size == sizeof result && result.reserved == 0 && result.count >= 0 &&
                   result.dropped >= 0,
               "the result is one, " + what);
        expect(count <= described, "no more keypoints than there is room for, " + what);
        if (wish.result && !overflow)
            expect(found.at<gpv_sift_result>(0).count == result.count &&
                       found.at<gpv_sift_result>(0).dropped == result.dropped &&
                       found.at<gpv_sift_result>(0).struct_size == sizeof result &&
                       found.at<gpv_sift_result>(0).reserved == 0,
                   "the result is that in its buffer, " + what);
        expect(keypoints.intact_but_for(count, sizeof(gpv_sift_keypoint), record) &&
                   numbers.intact_but_for(descriptors ? count : 0, descriptor_bytes(p),
                                          descriptor_bytes(p)) &&
                   found.intact_but_for(wish.result, sizeof result, sizeof result),
               "nothing is written beside the records, " + what);
        for (std::size_t i = 0; i < count; i++)
            features.keypoints.push_back(keypoints.at<gpv_sift_keypoint>(i * record));
        if (descriptors)
            features.descriptors.assign(numbers.data(),
                                        numbers.data() + count * descriptor_bytes(p));
        return features;
    }

    std::vector<std::uint8_t> describe(const gpv_sift_params &p, const GuardedImage &src,
                                       const std::vector<gpv_sift_keypoint> &keypoints,
                                       const Wish &wish = {}) {
        set(p);
        const std::size_t record = wish.record(), offset = static_cast<std::size_t>(wish.offset);
        Values records(std::max<std::size_t>(keypoints.size(), 1) * record, offset);
        for (std::size_t i = 0; i < keypoints.size(); i++)
            std::memcpy(records.data() + i * record, &keypoints[i], sizeof keypoints[i]);
        const std::vector<std::uint8_t> before = records.bytes();
        Values numbers(std::max<std::size_t>(keypoints.size(), 1) * descriptor_bytes(p), offset);
        const Buffers to(*this, {&records, &numbers}, wish.on_device);
        require(gpv_sift_describe(op_, nullptr, placed(src, src_), to[0], wish.stride,
                                  static_cast<std::int32_t>(keypoints.size()), to[1]),
                context_, "gpv_sift_describe");
        gpv_sift_result result;
        gpv_sift_result_init(&result, sizeof result);
        require(gpv_sift_wait(op_, &result), context_, "gpv_sift_wait");
        to.download();
        expect(result.count == static_cast<std::int32_t>(keypoints.size()) && result.dropped == 0,
               "as many descriptors as were asked for, " + text_of(p, src));
        expect(
            records.bytes() == before &&
                numbers.intact_but_for(keypoints.size(), descriptor_bytes(p), descriptor_bytes(p)),
            "nothing is written beside the descriptors, " + text_of(p, src));
        return {numbers.data(), numbers.data() + keypoints.size() * descriptor_bytes(p)};
    }

    /// For what run() and describe() do with so many keypoints in host memory.
    void prepare(const gpv_sift_params &p, const GuardedImage &src, bool mask, int keypoints) {
        prepare(p, *src.view(), mask, keypoints);
    }
    void prepare(const gpv_sift_params &p, gpv_image from, bool mask, int keypoints) {
        set(p);
        from.memory = place_ == Place::host ? GPV_MEMORY_HOST : GPV_MEMORY_CUDA;
        gpv_image like = from;
        like.format = GPV_FORMAT_GRAY8;
        require(gpv_sift_prepare(op_, &from, mask ? &like : nullptr, keypoints), context_,
                "gpv_sift_prepare");
    }
    const CountedContext &context() const { return context_; }
    gpv_sift *op() const { return op_; }

  private:
    void set(const gpv_sift_params &p) {
        require(gpv_sift_set_params(op_, &p), context_, "gpv_sift_set_params");
    }

#ifdef HAVE_CUDA
    const gpv_image *placed(const GuardedImage &image, DeviceImage &copy) {
        if (place_ == Place::host)
            return image.view();
        copy.upload(image);
        return copy.view();
    }
#else
    static const gpv_image *placed(const GuardedImage &image, int) {
        return image.view();
    }
#endif

    /// The buffers of a call: keypoints, descriptors, result.
    class Buffers {
      public:
        Buffers(Operator &op, const std::array<Values *, 3> &values, bool on_device)
            : op_(op), values_(values) {
            for (std::size_t i = 0; i < 3; i++) {
                if (!values[i])
                    continue;
                buffers_[i] = values[i]->view(values[i]->bytes().data());
                copied_[i] = op.backend_ == GPV_BACKEND_CUDA && (on_device || i == 2);
#ifdef HAVE_CUDA
                if (!copied_[i])
                    continue;
                op.values_[i].upload(values[i]->bytes().data(), values[i]->bytes().size());
                buffers_[i] = values[i]->view(op.values_[i].data(), GPV_MEMORY_CUDA);
#endif
            }
        }
        const gpv_buffer *operator[](std::size_t i) const {
            return values_[i] ? &buffers_[i] : nullptr;
        }
        void download() const {
#ifdef HAVE_CUDA
            for (std::size_t i = 0; i < 3; i++)
                if (copied_[i])
                    op_.values_[i].download(values_[i]->bytes().data(), values_[i]->bytes().size());
#endif
        }

      private:
        [[maybe_unused]] Operator &op_;
        std::array<Values *, 3> values_;
        std::array<gpv_buffer, 3> buffers_{};
        std::array<bool, 3> copied_{};
    };

    CountedContext context_;
    gpv_backend backend_;
    [[maybe_unused]] Place place_; // without CUDA there is one
#ifdef HAVE_CUDA
    const bool tight_ = place_ == Place::device_tight;
    DeviceImage src_{tight_}, mask_{tight_};
    DeviceBlock values_[3];
#else
    int src_ = 0, mask_ = 0;
#endif
    const SiftOp op_{context_};
};

} // namespace parity
