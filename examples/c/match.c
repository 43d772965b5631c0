/* SPDX-License-Identifier: BSD-2-Clause */
/* Finds an object in a scene, which are two pictures: matches the keypoints of both, looks for the
   homography that most of the matches agree with, and draws where it takes the edges of the object.
   Build: cc match.c $(pkg-config --cflags --libs gpuvision) */
#include "common.h"

enum {
    FEATURES = 4000,  /* of a picture, the strongest */
    MIN_INLIERS = 15, /* of false pairs alone up to 9 agree by chance, of thousands more */
    LINE_WIDTH = 5,   /* pixels */
    NOT_FOUND = 2     /* exit status */
};

/* What gpv_sift_run() says of a picture. */
struct features {
    gpv_sift_keypoint keypoints[FEATURES];
    uint8_t descriptors[FEATURES][GPV_SIFT_DESCRIPTOR_LENGTH];
    int32_t count;
};

/* What gpv_match_run() says, and the same as gpv_homography_find() takes it. */
static gpv_match_pair pairs[FEATURES];
static float from[FEATURES][2], to[FEATURES][2];

static void check(const gpv_context *context, gpv_status status) {
    if (status != GPV_OK)
        die(gpv_status_string(status), gpv_context_error(context));
}

static void describe(const gpv_context *context, gpv_sift *sift, const gpv_image *image,
                     struct features *features) {
    gpv_buffer keypoints = buffer_of(features->keypoints, sizeof features->keypoints);
    gpv_buffer descriptors = buffer_of(features->descriptors, sizeof features->descriptors);
    gpv_sift_result result;
    gpv_sift_result_init(&result, sizeof result);
    check(context, gpv_sift_run(sift, NULL, image, NULL, &keypoints, 0, &descriptors, NULL));
    check(context, gpv_sift_wait(sift, &result));
    features->count = result.count;
}

/* How many there are. */
static int32_t find_pairs(const gpv_context *context, gpv_match *match, struct features *object,
                          struct features *scene) {
    gpv_buffer query = buffer_of(object->descriptors, sizeof object->descriptors);
    gpv_buffer train = buffer_of(scene->descriptors, sizeof scene->descriptors);
    gpv_buffer found = buffer_of(pairs, sizeof pairs);
    gpv_match_result result;
    gpv_match_result_init(&result, sizeof result);
    check(context, gpv_match_run(match, NULL, &query, object->count, NULL, &train, scene->count,
                                 NULL, &found, NULL));
    check(context, gpv_match_wait(match, &result));
    for (int32_t i = 0; i < result.count; ++i) {
        const gpv_sift_keypoint *a = &object->keypoints[pairs[i].query];
        const gpv_sift_keypoint *b = &scene->keypoints[pairs[i].train];
        from[i][0] = a->x;
        from[i][1] = a->y;
        to[i][0] = b->x;
        to[i][1] = b->y;
    }
    return result.count;
}

/* Where the corner pixels of the object are in the scene. False if one would be behind the camera:
   then the homography is not that of a picture that is seen. */
static int find_corners(const double *m, const gpv_image *object, float corners[8]) {
    double right = object->width - 1, bottom = object->height - 1;
    const double own[8] = {0, 0, right, 0, right, bottom, 0, bottom};
    for (int i = 0; i < 8; i += 2) {
        double x = own[i], y = own[i + 1], w = m[6] * x + m[7] * y + m[8];
        if (w <= 0)
            return 0;
        corners[i] = (float)((m[0] * x + m[1] * y + m[2]) / w);
        corners[i + 1] = (float)((m[3] * x + m[4] * y + m[5]) / w);
    }
    return 1;
}

static void print(const gpv_homography *homography, const float corners[8]) {
    static const char *const names[4] = {"top left", "top right", "bottom right", "bottom left"};
    printf("homography\n");
    for (int i = 0; i < 9; i += 3)
        printf("%12.5g %12.5g %12.5g\n", homography->matrix[i], homography->matrix[i + 1],
               homography->matrix[i + 2]);
    printf("      corner        x        y\n");
    for (int i = 0; i < 4; ++i)
        printf("%12s %8.2f %8.2f\n", names[i], corners[2 * i], corners[2 * i + 1]);
}

int main(int argc, char **argv) {
    program = "match";
    if (argc != 4)
        die("usage", "match OBJECT.pgm|OBJECT.ppm SCENE.pgm|SCENE.ppm OUT.ppm (exits with 2, and "
                     "writes nothing, if the object is not found)");
    gpv_image object, scene, colors;
    load(argv[1], &object);
    load(argv[2], &scene);

    gpv_context *context = create_context();
    gpv_sift_params params;
    gpv_sift_params_init(&params, sizeof params);
    params.max_features = FEATURES;
    gpv_sift *sift = NULL;
    gpv_match *match = NULL;
    check(context, gpv_sift_create(context, &params, &sift));
    check(context, gpv_match_create(context, NULL, &match));
    static struct features of_object, of_scene;
    describe(context, sift, &object, &of_object);
    describe(context, sift, &scene, &of_scene);
    int32_t count = find_pairs(context, match, &of_object, &of_scene);
    gpv_homography homography;
    gpv_homography_init(&homography, sizeof homography);
    check(context, gpv_homography_find(context, NULL, from[0], to[0], count, NULL, &homography));

    printf("  object    scene  matches  inliers\n");
    printf("%8d %8d %8d %8d\n", (int)of_object.count, (int)of_scene.count, (int)count,
           (int)homography.inliers);
    float corners[8];
    int found =
        homography.inliers >= MIN_INLIERS && find_corners(homography.matrix, &object, corners);
    if (found) {
        print(&homography, corners);
        to_rgb(&scene, &colors);
        check(context, gpv_draw_outline(match, NULL, &colors, corners, 4, LINE_WIDTH, 0xff4000));
        save(argv[3], &colors);
        free(colors.data[0]);
    }
    printf("%d x %d pixels, %s, on %s\n", (int)scene.width, (int)scene.height,
           found ? "found" : "not found", gpv_context_device_name(context));
    gpv_match_destroy(&match);
    gpv_sift_destroy(&sift);
    gpv_context_destroy(&context);
    free(scene.data[0]);
    free(object.data[0]);
    return found ? 0 : NOT_FOUND;
}
