// SPDX-License-Identifier: BSD-2-Clause
#include "core/kmeans.hpp"

#include <gpuvision/kmeans.h>

namespace gpv {
namespace {

constexpr gpv_choice metrics[] = {{"l2", "Euclidean distance", GPV_KMEANS_METRIC_L2},
                                  {"l1", "Manhattan distance", GPV_KMEANS_METRIC_L1}};

constexpr gpv_choice init_methods[] = {
    {"plusplus", "Colours drawn by their distance to those drawn before", GPV_KMEANS_INIT_PLUSPLUS},
    {"random", "Colours drawn by how often they occur", GPV_KMEANS_INIT_RANDOM},
    {"grid", "The colours of pixels spread evenly over the image", GPV_KMEANS_INIT_GRID},
    {"given", "Those of gpv_kmeans_set_centroids()", GPV_KMEANS_INIT_GIVEN}};

constexpr gpv_choice spaces[] = {{"rgb", "R, G and B", GPV_KMEANS_COLOR_SPACE_RGB},
                                 {"lab", "CIE L*a*b*", GPV_KMEANS_COLOR_SPACE_LAB}};

using Params = gpv_kmeans_params;

constexpr gpv_field fields[] = {
    GPV_FIELD(number, Params, clusters, 0, GPV_KMEANS_MAX_CLUSTERS, 8, "",
              "How many clusters, and so colours, to find; 0 chooses their number, up to "
              "max_clusters. 1 is refused."),
    GPV_FIELD(number, Params, max_clusters, 2, GPV_KMEANS_MAX_CLUSTERS, 16, "",
              "Largest number of clusters that is chosen where clusters is 0."),
    GPV_FIELD(number, Params, max_iterations, 0, 10000, 20, "",
              "How often the centroids are moved in an image at most; 0 leaves them where they "
              "start."),
    GPV_FIELD(number, Params, tolerance, -1e6, 1e6, 0.5, "grey levels",
              "The iteration ends when no centroid has moved further; 0 waits until the labels "
              "repeat, and below 0 all of max_iterations are run."),
    GPV_FIELD(choice, Params, metric, metrics, GPV_KMEANS_METRIC_L2,
              "Distance that says to which centroid a colour is nearest."),
    GPV_FIELD(choice, Params, init, init_methods, GPV_KMEANS_INIT_PLUSPLUS,
              "How the first centroids are chosen."),
    GPV_FIELD(choice, Params, color_space, spaces, GPV_KMEANS_COLOR_SPACE_RGB,
              "Space in which colours have their distances."),
    GPV_FIELD(seed, Params, seed,
              "Seed of what init draws, unless it draws nothing: the same seed draws the same."),
    GPV_FIELD(flag, Params, warm_start, false,
              "Whether an image starts from the centroids of the one before, so that the clusters "
              "keep their numbers until the scene changes.")};
static_assert(is_complete<Params>(fields));

/// Their texts say more than a row.
void require_rules(const void *of_kmeans) {
    const auto &params = *static_cast<const Params *>(of_kmeans);
    if (params.clusters != 0 && (params.clusters < 2 || params.clusters > GPV_KMEANS_MAX_CLUSTERS))
        throw Error(Status::invalid_argument,
                    "params->clusters is " + std::to_string(params.clusters) + ", must be 2.." +
                        std::to_string(GPV_KMEANS_MAX_CLUSTERS) + ", or 0: chosen automatically");
    if (params.init == GPV_KMEANS_INIT_GIVEN && params.clusters == 0)
        throw Error(Status::invalid_argument,
                    "params->init is GPV_KMEANS_INIT_GIVEN, but params->clusters is 0; their "
                    "number has to be given too");
}

} // namespace

constinit const Fields kmeans_fields = {"kmeans", fields, 48, require_rules};

} // namespace gpv
