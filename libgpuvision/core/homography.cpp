// SPDX-License-Identifier: BSD-2-Clause
// RANSAC (Fischler and Bolles 1981) with local optimization (Chum, Matas and Kittler 2003). Only
// sums, differences, products, quotients and roots, in a fixed order: the same bits everywhere.
#include "core/homography.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <vector>

namespace gpv {
namespace {

using Matrix = std::array<double, 9>; ///< row by row

constexpr int sample_size = 4;
constexpr double max_entry = 0x1p200;        ///< matrix entries; no distance of floats overflows
constexpr int max_rounds = 100;              ///< rounds of choosing inliers and refining to them
constexpr int max_steps = 8;                 ///< steps of one refinement
constexpr double min_height = 1.0 / 1024;    ///< height of a triangle / its longest side
constexpr double min_decrease = 1e-6;        ///< decrease of the sum of squares in a step / the sum
constexpr double min_mean_square = 0x1p-80;  ///< below this, no further step is worth it
constexpr double first_damping = 1.0 / 1024; ///< damping after the first step that did not help
constexpr double damping_up = 16, damping_down = 1.0 / 16;
constexpr std::size_t block = 64; ///< pairs between two checks whether a model can still win

Point2d operator-(Point2d a, Point2d b) {
    return {a.x - b.x, a.y - b.y};
}

double cross(Point2d a, Point2d b) {
    return a.x * b.y - a.y * b.x;
}

double square(Point2d a) {
    return a.x * a.x + a.y * a.y;
}

// ---- samples ------------------------------------------------------------------------

/// Steele, Lea and Flood, Fast splittable pseudorandom number generators (2014).
class SplitMix64 {
  public:
    explicit SplitMix64(std::uint64_t seed) : state_(seed) {}

    std::uint32_t below(std::uint32_t bound) {
        return static_cast<std::uint32_t>(((next() >> 32) * bound) >> 32);
    }

  private:
    std::uint64_t next() {
        state_ += 0x9e3779b97f4a7c15;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
        z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
        return z ^ (z >> 31);
    }

    std::uint64_t state_;
};

using Sample = std::array<std::uint32_t, sample_size>;

/// Four different indices; every set is equally likely (Floyd's algorithm).
Sample draw(SplitMix64 &random, std::uint32_t count) {
    Sample sample{};
    for (std::uint32_t i = 0; i < sample_size; i++) {
        const std::uint32_t last = count - sample_size + i, drawn = random.below(last + 1);
        const auto end = sample.begin() + i;
        sample[i] = std::find(sample.begin(), end, drawn) == end ? drawn : last;
    }
    return sample;
}

/// Four points, and twice the signed areas of their triangles.
struct Corners {
    std::array<Point2d, sample_size> point;
    std::array<double, sample_size> area; ///< of the triangle without point i, with the
                                          ///< order of corners in find_areas()
};

/// False if three points are nearly collinear, or two coincide.
bool find_areas(Corners &corners) {
    static constexpr int triangles[sample_size][3] = {{1, 2, 3}, {2, 0, 3}, {0, 1, 3}, {0, 1, 2}};
    for (int i = 0; i < sample_size; i++) {
        const Point2d a = corners.point[triangles[i][0]], b = corners.point[triangles[i][1]],
                      c = corners.point[triangles[i][2]];
        const double longest = std::max({square(b - a), square(c - a), square(c - b)});
        const double area = cross(b - a, c - a);
        if (!(std::fabs(area) > min_height * longest))
            return false;
        corners.area[i] = area;
    }
    return true;
}

/// Whether every triangle has the same orientation in both pictures. Then the homography keeps the
/// orientation, and all four points lie on one side of the line that it takes to infinity.
bool same_orientation(const Corners &from, const Corners &to) {
    for (int i = 0; i < sample_size; i++)
        if ((from.area[i] > 0) != (to.area[i] > 0))
            return false;
    return true;
}

/// With point 3 in the origin of both pictures, and p and q the others as (x, y, 1), what is zero
/// at two of the p times the third q, summed with factors that take the origin to the origin.
Matrix homography_of(const Corners &from, const Corners &to) {
    const Point2d p = from.point[3], q = to.point[3];
    Matrix m = {0, 0, 0, 0, 0, 0, 0, 0, 1};
    for (int i = 0; i < 3; i++) {
        const Point2d side = from.point[(i + 1) % 3] - from.point[(i + 2) % 3];
        const double factor = to.area[i] / to.area[3] / from.area[i];
        const Point2d image = to.point[i] - q;
        const double row[] = {image.x * factor, image.y * factor, factor};
        for (int r = 0; r < 3; r++) {
            m[3 * r] += row[r] * side.y;
            m[3 * r + 1] -= row[r] * side.x;
        }
    }
    for (int c = 0; c < 3; c++) {
        m[c] += q.x * m[6 + c];
        m[3 + c] += q.y * m[6 + c];
    }
    for (int r = 0; r < 9; r += 3)
        m[r + 2] -= p.x * m[r] + p.y * m[r + 1];
    return m;
}

/// Scaled so that the last entry is 1 or -1; its sign is kept. None if that is not possible.
std::optional<Matrix> scaled(Matrix m) {
    const double last = std::fabs(m[8]);
    for (double &number : m) {
        number /= last;
        if (!(std::fabs(number) <= max_entry))
            return {};
    }
    return m;
}

// ---- refinement ---------------------------------------------------------------------

struct Pair {
    double x, y, u, v;
};

/// Normalized coordinates: the mean of the points is the origin, their mean distance from it
/// sqrt(2) (Hartley 1997).
struct Frame {
    Point2d middle;
    double unit;
    Point2d there(Point2d p) const { return {(p.x - middle.x) / unit, (p.y - middle.y) / unit}; }
};

/// The matrix between coordinates of the two frames.
Matrix into(const Matrix &m, const Frame &from, const Frame &to) {
    Matrix n{};
    for (int r = 0; r < 9; r += 3) {
        n[r] = m[r] * from.unit;
        n[r + 1] = m[r + 1] * from.unit;
        n[r + 2] = m[r] * from.middle.x + m[r + 1] * from.middle.y + m[r + 2];
    }
    for (int c = 0; c < 3; c++) {
        n[c] = (n[c] - to.middle.x * n[6 + c]) / to.unit;
        n[3 + c] = (n[3 + c] - to.middle.y * n[6 + c]) / to.unit;
    }
    return n;
}

Matrix out_of(const Matrix &n, const Frame &from, const Frame &to) {
    Matrix m{};
    for (int c = 0; c < 3; c++) {
        m[c] = n[c] * to.unit + to.middle.x * n[6 + c];
        m[3 + c] = n[3 + c] * to.unit + to.middle.y * n[6 + c];
        m[6 + c] = n[6 + c];
    }
    for (int r = 0; r < 9; r += 3) {
        m[r] /= from.unit;
        m[r + 1] /= from.unit;
        m[r + 2] -= m[r] * from.middle.x + m[r + 1] * from.middle.y;
    }
    return m;
}

double determinant(const Matrix &m) {
    return m[0] * (m[4] * m[8] - m[5] * m[7]) - m[1] * (m[3] * m[8] - m[5] * m[6]) +
           m[2] * (m[3] * m[7] - m[4] * m[6]);
}

constexpr int unknowns = 8; // the last number of the matrix is 1

/// Normal equations of least squares, for a small change of the matrix.
struct NormalEquations {
    double sum = 0;                                            ///< sum of squared distances
    std::array<std::array<double, unknowns>, unknowns> left{}; ///< lower half of the matrix
    std::array<double, unknowns> right{};
};

/// The sum is infinite if a pair has no positive denominator.
NormalEquations equations(const Matrix &m, const std::vector<Pair> &pairs, std::size_t count) {
    double sum = 0, xx = 0, xy = 0, yy = 0, xz = 0, yz = 0, zz = 0;
    std::array<double, 5> up{}, vp{}; // xx, xy, yy, xz, yz times u or v
    double sxx = 0, sxy = 0, syy = 0; // times u u + v v
    std::array<double, unknowns> right{};
    for (std::size_t i = 0; i < count; i++) {
        const Pair &p = pairs[i];
        const double w = m[6] * p.x + m[7] * p.y + m[8];
        if (!(w > 0)) {
            sum = std::numeric_limits<double>::infinity();
            break;
        }
        const double z = 1 / w, x = p.x * z, y = p.y * z;
        const double u = (m[0] * p.x + m[1] * p.y + m[2]) * z,
                     v = (m[3] * p.x + m[4] * p.y + m[5]) * z;
        const double du = p.u - u, dv = p.v - v, length = u * u + v * v, along = u * du + v * dv;
        sum += du * du + dv * dv;
        const double products[] = {x * x, x * y, y * y, x * z, y * z};
        xx += products[0];
        xy += products[1];
        yy += products[2];
        xz += products[3];
        yz += products[4];
        zz += z * z;
        for (int k = 0; k < 5; k++) {
            up[k] += products[k] * u;
            vp[k] += products[k] * v;
        }
        sxx += products[0] * length;
        sxy += products[1] * length;
        syy += products[2] * length;
        right[0] += x * du;
        right[1] += y * du;
        right[2] += z * du;
        right[3] += x * dv;
        right[4] += y * dv;
        right[5] += z * dv;
        right[6] -= x * along;
        right[7] -= y * along;
    }
    NormalEquations result{sum, {}, right};
    for (int k = 0; k < 6; k += 3) {
        result.left[k][k] = xx;
        result.left[k + 1][k] = xy;
        result.left[k + 1][k + 1] = yy;
        result.left[k + 2][k] = xz;
        result.left[k + 2][k + 1] = yz;
        result.left[k + 2][k + 2] = zz;
        const std::array<double, 5> &s = k == 0 ? up : vp;
        result.left[6][k] = -s[0];
        result.left[6][k + 1] = result.left[7][k] = -s[1];
        result.left[7][k + 1] = -s[2];
        result.left[6][k + 2] = -s[3];
        result.left[7][k + 2] = -s[4];
    }
    result.left[6][6] = sxx;
    result.left[7][6] = sxy;
    result.left[7][7] = syy;
    return result;
}

/// Solves by Cholesky decomposition, the diagonal times 1 + damping. None if singular.
std::optional<std::array<double, unknowns>> solution(const NormalEquations &equations,
                                                     double damping) {
    auto l = equations.left;
    auto b = equations.right;
    for (int i = 0; i < unknowns; i++) {
        l[i][i] += damping * l[i][i];
        for (int j = 0; j <= i; j++) {
            for (int k = 0; k < j; k++)
                l[i][j] -= l[i][k] * l[j][k];
            if (j < i)
                l[i][j] /= l[j][j];
        }
        if (!(l[i][i] > 0))
            return {};
        l[i][i] = std::sqrt(l[i][i]);
        for (int k = 0; k < i; k++)
            b[i] -= l[i][k] * b[k];
        b[i] /= l[i][i];
    }
    for (int i = unknowns - 1; i >= 0; i--) {
        for (int k = i + 1; k < unknowns; k++)
            b[i] -= l[k][i] * b[k];
        b[i] /= l[i][i];
    }
    return b;
}

/// Minimizes the sum of squared distances of pairs, by the Levenberg-Marquardt method.
Matrix least_squares(Matrix m, const std::vector<Pair> &pairs, std::size_t count) {
    NormalEquations here = equations(m, pairs, count);
    double damping = 0;
    for (int i = 0; i < max_steps && here.sum > min_mean_square * static_cast<double>(count); i++) {
        Matrix next = m;
        const auto step = solution(here, damping);
        for (int k = 0; step && k < unknowns; k++)
            next[k] += (*step)[k];
        const NormalEquations there = step ? equations(next, pairs, count) : here;
        if (!(there.sum < here.sum)) {
            damping = std::max(damping * damping_up, first_damping);
            continue;
        }
        const bool enough = here.sum - there.sum <= min_decrease * here.sum;
        m = next;
        here = there;
        damping *= damping_down;
        if (enough)
            break;
    }
    return m;
}

// ---- search -------------------------------------------------------------------------

/// Probability that none of the samples has only inliers: (1 - P(all inliers))^samples.
double chance_of_none(std::int32_t fitting, std::size_t count, std::int32_t samples) {
    double all_fit = 1;
    for (int i = 0; i < sample_size; i++)
        all_fit *= std::max(fitting - i, 0) / (static_cast<double>(count) - i);
    double result = 1, power = 1 - all_fit;
    for (; samples > 0; samples >>= 1) {
        if (samples & 1)
            result *= power;
        power *= power;
    }
    return result;
}

class Search {
  public:
    Search(const gpv_homography_params &params, std::span<const Point2d> from,
           std::span<const Point2d> to)
        : params_(params), square_(static_cast<double>(params.threshold) * params.threshold),
          from_(from), to_(to), pairs_(from.size()), fitting_(from.size()), refined_(from.size()) {
        constexpr double nan = std::numeric_limits<double>::quiet_NaN();
        const std::size_t padded = (from.size() + block - 1) / block * block;
        for (std::vector<double> *numbers : {&x_, &y_, &u_, &v_})
            numbers->assign(padded, nan); // which fits nothing
        for (std::size_t i = 0; i < from.size(); i++) {
            x_[i] = from[i].x;
            y_[i] = from[i].y;
            u_[i] = to[i].x;
            v_[i] = to[i].y;
        }
    }

    Homography run(std::span<std::uint8_t> fits) {
        SplitMix64 random(params_.seed);
        const double enough = 1 - static_cast<double>(params_.confidence);
        std::int32_t tried = 0;
        while (tried < params_.max_iterations) {
            tried++;
            if (const auto m = model(draw(random, static_cast<std::uint32_t>(from_.size()))))
                consider(*m);
            if (chance_of_none(best_.count, from_.size(), tried) <= enough)
                break;
        }
        return result(tried, fits);
    }

  private:
    struct Candidate {
        Matrix matrix{};
        std::int32_t count = 0; ///< inliers
        double sum = 0;         ///< sum of their squared distances
        double gain = 0;        ///< count times the squared threshold, less sum
    };

    std::optional<Matrix> model(const Sample &sample) const {
        Corners from, to;
        for (int i = 0; i < sample_size; i++) {
            from.point[i] = from_[sample[i]];
            to.point[i] = to_[sample[i]];
        }
        if (!find_areas(from) || !find_areas(to) || !same_orientation(from, to))
            return {};
        return scaled(homography_of(from, to));
    }

    void consider(const Matrix &m) {
        const auto needed =
            std::max(sample_size, static_cast<std::int32_t>(best_.gain / square_) + 1);
        if (count(m, needed) < needed)
            return;
        Candidate candidate = evaluate(m);
        if (candidate.gain > best_.gain)
            best_ = improved(candidate);
    }

    struct Distance {
        double square; ///< times w w
        double w;
    };
    Distance distance(const Matrix &m, std::size_t i) const {
        const double w = m[6] * x_[i] + m[7] * y_[i] + m[8];
        const double du = m[0] * x_[i] + m[1] * y_[i] + m[2] - u_[i] * w;
        const double dv = m[3] * x_[i] + m[4] * y_[i] + m[5] - v_[i] * w;
        return {du * du + dv * dv, w};
    }
    bool fits(Distance d) const { return (d.w > 0) & (d.square <= square_ * (d.w * d.w)); }

    /// Number of inliers; something below needed once that can no longer be reached.
    std::int32_t count(const Matrix &m, std::int32_t needed) const {
        std::int64_t sum = 0;
        for (std::size_t i = 0; i < x_.size(); i += block) {
            if (sum + static_cast<std::int64_t>(from_.size() - i) < needed)
                break;
            for (std::size_t j = i; j < i + block; j++)
                sum += fits(distance(m, j));
        }
        return static_cast<std::int32_t>(sum);
    }

    /// Counts the inliers of m and writes their indices to fitting_.
    Candidate evaluate(const Matrix &m) {
        Candidate candidate{.matrix = m};
        for (std::size_t i = 0; i < from_.size(); i++)
            if (const Distance d = distance(m, i); fits(d)) {
                fitting_[candidate.count++] = static_cast<std::uint32_t>(i);
                candidate.sum += d.square / (d.w * d.w);
            }
        candidate.gain = candidate.count * square_ - candidate.sum;
        return candidate;
    }

    /// Refines the candidate to its inliers, in fitting_, until these do not change. Refining to
    /// inliers makes no candidate worse, except by rounding.
    Candidate improved(Candidate candidate) {
        for (int i = 0; i < max_rounds; i++) {
            const auto end = fitting_.begin() + candidate.count;
            std::copy(fitting_.begin(), end, refined_.begin());
            const auto m = refined(candidate);
            if (!m)
                break;
            const Candidate next = evaluate(*m);
            if (next.count < sample_size || !(next.gain > candidate.gain))
                break;
            const bool same = next.count == candidate.count &&
                              std::equal(fitting_.begin(), end, refined_.begin());
            candidate = next;
            if (same)
                break;
        }
        return candidate;
    }

    std::optional<Matrix> refined(const Candidate &candidate) {
        const Frame from = frame(x_, y_, candidate.count), to = frame(u_, v_, candidate.count);
        if (!(from.unit > 0 && to.unit > 0))
            return {};
        for (std::int32_t k = 0; k < candidate.count; k++) {
            const std::size_t i = refined_[k];
            const Point2d p = from.there(from_[i]), q = to.there(to_[i]);
            pairs_[k] = {p.x, p.y, q.x, q.y};
        }
        const auto start = scaled(into(candidate.matrix, from, to));
        if (!start || !(determinant(*start) > 0))
            return {};
        const Matrix m = least_squares(*start, pairs_, candidate.count);
        if (!(determinant(m) > 0))
            return {};
        return scaled(out_of(m, from, to));
    }

    /// Frame of the pairs in refined_.
    Frame frame(const std::vector<double> &x, const std::vector<double> &y,
                std::int32_t count) const {
        Point2d sum{};
        for (std::int32_t k = 0; k < count; k++) {
            sum.x += x[refined_[k]];
            sum.y += y[refined_[k]];
        }
        const Point2d middle = {sum.x / count, sum.y / count};
        double distances = 0;
        for (std::int32_t k = 0; k < count; k++)
            distances += std::sqrt(square(Point2d{x[refined_[k]], y[refined_[k]]} - middle));
        return {middle, distances / count / std::sqrt(2.0)};
    }

    Homography result(std::int32_t tried, std::span<std::uint8_t> fits) {
        Homography out{.iterations = tried};
        std::fill(fits.begin(), fits.end(), std::uint8_t{0});
        if (best_.count < sample_size)
            return out;
        out.found = true;
        for (int i = 0; i < 9; i++)
            out.matrix[i] = best_.matrix[i] * best_.matrix[8] + 0.0; // no negative zero
        out.error = std::sqrt(best_.sum / best_.count);
        out.inliers = best_.count;
        for (std::size_t i = 0; i < fits.size(); i++)
            fits[i] = this->fits(distance(best_.matrix, i));
        return out;
    }

    const gpv_homography_params params_;
    const double square_; ///< squared threshold
    const std::span<const Point2d> from_, to_;
    std::vector<double> x_, y_, u_, v_; ///< coordinates of pairs, padded to whole blocks
    std::vector<Pair> pairs_;           ///< in coordinates of frames
    std::vector<std::uint32_t> fitting_, refined_;
    Candidate best_;
};

} // namespace

Homography find_homography(const gpv_homography_params &params, std::span<const Point2d> from,
                           std::span<const Point2d> to, std::span<std::uint8_t> fits) {
    if (from.size() < sample_size) {
        std::fill(fits.begin(), fits.end(), std::uint8_t{0});
        return {};
    }
    return Search(params, from, to).run(fits);
}

} // namespace gpv
