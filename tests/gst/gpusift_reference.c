/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A picture that gpusift looks for: against homographies that are known, against the library called
 * directly on the same frames, and its behaviour in pipelines; on the backend GPV_TEST_BACKEND, or
 * on the CPU. With GST_TRACERS=leaks every test also fails on objects that are alive after it.
 */
#include "elements.h"

#include <math.h>

enum { picture_width = 200, picture_height = 150, frame_width = 400, frame_height = 300 };

/* ---- results ---- */

static gboolean found_in(const GstStructure *results) {
    gboolean found = FALSE;
    fail_unless(gst_structure_get_boolean(results, "found", &found));
    return found;
}

static void matrix_in(const GstStructure *results, gdouble *m) {
    const GValue *array = gst_structure_get_value(results, "homography");
    fail_unless(array != NULL && GST_VALUE_HOLDS_ARRAY(array));
    fail_unless_equals_int(gst_value_array_get_size(array), 9);
    for (guint i = 0; i < 9; i++)
        m[i] = g_value_get_double(gst_value_array_get_value(array, i));
}

static void corners_in(const GstStructure *results, gdouble *corners) {
    const GValue *array = gst_structure_get_value(results, "corners");
    fail_unless(array != NULL && GST_VALUE_HOLDS_ARRAY(array));
    fail_unless_equals_int(gst_value_array_get_size(array), 4);
    for (guint i = 0; i < 4; i++) {
        const GstStructure *corner = gst_value_get_structure(gst_value_array_get_value(array, i));
        fail_unless(gst_structure_has_name(corner, "corner"));
        corners[2 * i] = double_field(corner, "cx");
        corners[2 * i + 1] = double_field(corner, "cy");
    }
}

/* ---- pictures ---- */

/* Noise of several scales, without edges that a change of size would move. */
static void add_noise(gdouble *sum, gint width, gint height, gint cell, GRand *random) {
    const gint columns = width / cell + 2, rows = height / cell + 2;
    g_autofree gdouble *grid = g_new(gdouble, (gsize)columns * rows);
    for (gint i = 0; i < columns * rows; i++)
        grid[i] = g_rand_double_range(random, -64, 64);
    for (gint y = 0; y < height; y++)
        for (gint x = 0; x < width; x++) {
            const gdouble *at = grid + y / cell * columns + x / cell;
            const gdouble u = (gdouble)(x % cell) / cell, v = (gdouble)(y % cell) / cell;
            sum[y * width + x] += (1 - v) * ((1 - u) * at[0] + u * at[1]) +
                                  v * ((1 - u) * at[columns] + u * at[columns + 1]);
        }
}

static Plane texture(gint width, gint height, guint32 seed) {
    static const gint cells[] = {5, 11, 23, 47};
    Plane plane = plane_new(width, height);
    gdouble *sum = g_new0(gdouble, (gsize)width * height);
    GRand *random = g_rand_new_with_seed(seed);
    for (guint i = 0; i < G_N_ELEMENTS(cells); i++)
        add_noise(sum, width, height, cells[i], random);
    for (gint i = 0; i < width * height; i++)
        plane.pixels[i] = (guint8)CLAMP(128 + sum[i], 0, 255);
    g_rand_free(random);
    g_free(sum);
    return plane;
}

static Plane picture_of(guint32 seed) {
    return texture(picture_width, picture_height, seed);
}

/* ---- cameras ---- */

typedef struct {
    gdouble m[9];
} Camera;

static Camera behind(Camera a, Camera b) {
    Camera c = {{0}};
    for (guint i = 0; i < 9; i++)
        for (guint k = 0; k < 3; k++)
            c.m[i] += a.m[i / 3 * 3 + k] * b.m[3 * k + i % 3];
    return c;
}

static Camera shift(gdouble x, gdouble y) {
    return (Camera){{1, 0, x, 0, 1, y, 0, 0, 1}};
}

/* About the middle of the picture, which comes to that of the frame and aside. The last number is
   1. */
static Camera camera(const Plane *picture, const GstVideoInfo *info, gdouble turn, gdouble scale,
                     gdouble tilt_x, gdouble tilt_y, gdouble aside_x, gdouble aside_y) {
    const gdouble c = scale * cos(turn), s = scale * sin(turn);
    const Camera turned = {{c, -s, 0, s, c, 0, 0, 0, 1}};
    const Camera tilted = {{1, 0, 0, 0, 1, 0, tilt_x, tilt_y, 1}};
    Camera all = behind(turned, shift(-(picture->width - 1) / 2.0, -(picture->height - 1) / 2.0));
    all = behind(shift((info->width - 1) / 2.0 + aside_x, (info->height - 1) / 2.0 + aside_y),
                 behind(tilted, all));
    for (guint i = 0; i < 9; i++)
        all.m[i] /= i == 8 ? 1 : all.m[8];
    all.m[8] = 1;
    return all;
}

/* Once round, nearer and farther, tilted, and aside, partly out of the frame. */
static Camera on_path(const Plane *picture, const GstVideoInfo *info, guint i) {
    return camera(picture, info, i * G_PI / 12, 1.05 + 0.25 * sin(0.7 * i), 6e-4 * cos(0.9 * i),
                  6e-4 * sin(1.3 * i), 40 * cos(0.5 * i), 30 * sin(0.5 * i));
}

/* Of numbers that are multiplied, not of points. */
static Camera inverse(Camera a) {
    const gdouble *m = a.m;
    return (Camera){
        {m[4] * m[8] - m[5] * m[7], m[2] * m[7] - m[1] * m[8], m[1] * m[5] - m[2] * m[4],
         m[5] * m[6] - m[3] * m[8], m[0] * m[8] - m[2] * m[6], m[2] * m[3] - m[0] * m[5],
         m[3] * m[7] - m[4] * m[6], m[1] * m[6] - m[0] * m[7], m[0] * m[4] - m[1] * m[3]}};
}

static void place(const gdouble *m, gdouble x, gdouble y, gdouble *to) {
    const gdouble w = m[6] * x + m[7] * y + m[8];
    to[0] = (m[0] * x + m[1] * y + m[2]) / w;
    to[1] = (m[3] * x + m[4] * y + m[5]) / w;
}

static guint8 sample(const Plane *plane, gdouble x, gdouble y) {
    const gint left = (gint)floor(x), top = (gint)floor(y);
    const gdouble u = x - left, v = y - top;
    gdouble sum = 0.5;
    for (gint i = 0; i < 4; i++) {
        const gint column = CLAMP(left + i % 2, 0, plane->width - 1);
        const gint row = CLAMP(top + i / 2, 0, plane->height - 1);
        sum +=
            (i % 2 ? u : 1 - u) * (i / 2 ? v : 1 - v) * plane->pixels[row * plane->width + column];
    }
    return (guint8)sum;
}

static void paste(Plane *onto, const Plane *picture, const Camera *seen) {
    const Camera back = inverse(*seen);
    for (gint y = 0; y < onto->height; y++)
        for (gint x = 0; x < onto->width; x++) {
            gdouble at[2];
            place(back.m, x, y, at);
            if (seen->m[6] * at[0] + seen->m[7] * at[1] + seen->m[8] > 0 && at[0] >= -0.5 &&
                at[0] < picture->width - 0.5 && at[1] >= -0.5 && at[1] < picture->height - 0.5)
                onto->pixels[y * onto->width + x] = sample(picture, at[0], at[1]);
        }
}

/* Of which seen is where; NULL: nowhere. */
static GstBuffer *scene(const GstVideoInfo *info, const Plane *picture, const Camera *seen,
                        guint32 seed) {
    Plane plane = texture(info->width, info->height, 1000 + seed);
    GstBuffer *frame;
    if (seen)
        paste(&plane, picture, seen);
    frame = plane_frame(info, &plane);
    plane_free(&plane);
    return frame;
}

/* ---- an element that looks for a picture ---- */

typedef struct {
    Pair pair;
    GstVideoInfo info;
    Plane picture;
    File file;
} Search;

static void search_for(Search *search, const Plane *picture, const gchar *path) {
    g_object_set(search->pair.h->element, "reference", path, NULL);
    search->pair.model->reference = picture;
}

static void set_frames(Search *search, const gchar *format, gint width, gint height) {
    search->info = make_info(format, width, height);
    pair_set_info(&search->pair, &search->info);
}

/* Takes the picture. */
static Search *search_new(const gchar *format, Plane picture) {
    Search *search = g_new0(Search, 1);
    search->pair = pair_new(element_called("gpusift"));
    search->picture = picture;
    search->file = file_new("picture.pgm");
    write_picture(&search->file, &picture, 1);
    set_frames(search, format, frame_width, frame_height);
    search_for(search, &search->picture, search->file.path);
    return search;
}

static void search_free(Search *search) {
    pair_free(&search->pair);
    g_free(search->picture.pixels);
    file_free(&search->file);
    g_free(search);
}

G_DEFINE_AUTOPTR_CLEANUP_FUNC(Search, search_free)

typedef struct {
    gboolean found;
    gint count, matches, inliers; /* the last two are -1 where nothing is looked for */
} Found;

/* Takes the frame, of which the library finds the same. */
static Found found_in_frame(Search *search, GstBuffer *frame) {
    GstBuffer *out = pair_push(&search->pair, frame, search->pair.count % 2);
    const GstStructure *results = results_of(out, "gpusift");
    Found found = {FALSE, int_field(results, "count"), -1, -1};
    if (gst_structure_has_field(results, "found")) {
        found.found = found_in(results);
        found.matches = int_field(results, "matches");
        found.inliers = int_field(results, "inliers");
    }
    gst_buffer_unref(out);
    return found;
}

static Found found_of(Search *search, const Plane *picture, guint step) {
    const Camera at = on_path(picture, &search->info, step);
    return found_in_frame(search, scene(&search->info, picture, &at, step));
}

static Found found_on_path(Search *search, guint step) {
    return found_of(search, &search->picture, step);
}

/* ---- where it is ---- */

/* The greatest of the four. */
static gdouble corner_error(const gdouble *corners, const gdouble *m) {
    gdouble worst = 0;
    for (guint i = 0; i < 4; i++) {
        gdouble truth[2];
        corner_of(m, picture_width, picture_height, i, truth);
        worst = MAX(worst, hypot(corners[2 * i] - truth[0], corners[2 * i + 1] - truth[1]));
    }
    return worst;
}

/*
 * The homography is known. A corner lies within a pixel in half of all frames at least, and in each
 * within the 3 pixels that a match may be off.
 */
TEST(test_camera_path, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(1));
    guint seen = 0, near = 0;
    for (guint i = 0; i < 30; i++) {
        const gboolean absent = i % 6 == 5;
        const Camera at = on_path(&search->picture, &search->info, i);
        GstBuffer *frame = scene(&search->info, &search->picture, absent ? NULL : &at, i);
        g_autoptr(GstBuffer) out = pair_push(&search->pair, frame, FALSE);
        const GstStructure *results = results_of(out, "gpusift");
        gdouble corners[8], error;
        fail_unless_equals_int(found_in(results), !absent);
        if (!absent) {
            corners_in(results, corners);
            error = corner_error(corners, at.m);
            fail_unless(error <= 3, "frame %u: %g", i, error);
            near += error <= 1;
            seen++;
        }
    }
    fail_unless(2 * near >= seen, "%u of %u are within a pixel", near, seen);
}

/* A plane that goes through the camera is no picture that is seen, however many matches agree. */
TEST(test_impossible_place, 1) {
    const Camera through = {{1, 0, 20, 0, 1, 70, -1.0 / 300, 0, 1}};
    Plane picture = texture(400, 150, 3);
    g_autoptr(Search) search = NULL;
    Found found;
    for (gint i = 0; i < picture.width * picture.height; i++)
        if (i % picture.width >= 150)
            picture.pixels[i] = 128;
    search = search_new("GRAY8", picture);
    search->pair.model->impossible = TRUE;
    pair_set(&search->pair, "overlay", "outline");
    found = found_in_frame(search, scene(&search->info, &picture, &through, 0));
    fail_unless(found.inliers >= 15 && !found.found, "%d inliers", found.inliers);
}

/* Corners and homography are those of the frame that they are on. */
TEST(test_results_are_scaled, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(4));
    const Camera at = on_path(&search->picture, &search->info, 3);
    const Camera scaled = behind((Camera){{1.5, 0, 0.25, 0, 0.5, -0.25, 0, 0, 1}}, at);
    g_autofree gchar *text = g_strdup_printf("gpusift backend=%s reference=%s ! videoscale ! "
                                             "capsfilter caps=video/x-raw,width=600,height=150",
                                             test_backend(), search->file.path);
    g_autoptr(GstHarness) h = gst_harness_new_parse(text);
    g_autoptr(GstBuffer) out = NULL;
    gdouble m[9], corners[8];
    set_info(h, &search->info);
    out = push_and_pull(h, scene(&search->info, &search->picture, &at, 0));
    matrix_in(results_of(out, "gpusift"), m);
    corners_in(results_of(out, "gpusift"), corners);
    fail_unless(corner_error(corners, m) < 1e-4);
    fail_unless(corner_error(corners, scaled.m) <= 3 * 1.5);
}

/* ---- what is drawn and told ---- */

static GstBuffer *any_scene(const Search *search, gboolean absent, guint i) {
    const Camera at = on_path(&search->picture, &search->info, i);
    return scene(&search->info, &search->picture, absent ? NULL : &at, i);
}

/* Found and not, in every overlay and colour. */
TEST(test_formats, some_of(G_N_ELEMENTS(formats))) {
    g_autoptr(Search) search = search_new(formats[__i__], picture_of(5));
    for (guint i = 0; i < 2 * search->pair.element->output_count; i++) {
        g_autofree gchar *color = g_strdup_printf("%u", 0x204060 + 0x30100 * i);
        Found found;
        pair_set_output(&search->pair, &search->pair.element->outputs[i / 2]);
        pair_set(&search->pair, "color", color);
        found = found_in_frame(search, any_scene(search, i % 2, i));
        fail_unless_equals_int(found.found, !(i % 2));
        fail_unless(i % 2 || found.inliers > 100, "%d inliers", found.inliers);
    }
}

/* By eye: a line between the corners, and nothing away from them. */
TEST(test_outline, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(6));
    const Camera at = camera(&search->picture, &search->info, 0, 1, 0, 0, 10, -15);
    GstBuffer *in = scene(&search->info, &search->picture, &at, 0), *out;
    g_auto(Plane) before = plane_of(&search->info, in), after = {0};
    const gint left = (frame_width - picture_width) / 2 + 10, right = left + picture_width;
    const gint top = (frame_height - picture_height) / 2 - 15, bottom = top + picture_height;
    guint drawn = 0;
    pair_set(&search->pair, "overlay", "outline");
    out = pair_push(&search->pair, in, FALSE);
    after = plane_of(&search->info, out);
    for (gint i = 0; i < frame_width * frame_height; i++) {
        const gint x = i % frame_width, y = i / frame_width;
        const gint from_sides = MIN(ABS(x - left), ABS(x - right));
        const gint from_ends = MIN(ABS(y - top), ABS(y - bottom));
        fail_unless(after.pixels[i] == before.pixels[i] || MIN(from_sides, from_ends) <= 5);
        drawn += after.pixels[i] == 149; /* green */
    }
    fail_unless(drawn > 2 * 2 * (picture_width + picture_height) * 9 / 10, "%u pixels", drawn);
    gst_buffer_unref(out);
}

/* In the metadata, on the bus, in pixels, and in neither; and frames are counted. */
TEST(test_wanted, 1) {
    g_autoptr(Search) search = search_new("NV12", picture_of(7));
    for (guint i = 0; i < 4 * search->pair.element->output_count; i++) {
        pair_set_output(&search->pair, &search->pair.element->outputs[i / 4]);
        pair_check_wanted(&search->pair, any_scene(search, FALSE, 2), i & 1, i >> 1 & 1);
        fail_unless_equals_uint64(stat_of(search->pair.h->element, test_backend(), "frames"),
                                  i + 1);
    }
}

/* ---- pictures ---- */

/* And a good one after them is found. */
TEST(test_bad_references, 1) {
    g_autoptr(Search) search = search_new("NV12", picture_of(11));
    pair_check_bad_pictures(&search->pair, "reference");
    search_for(search, &search->picture, search->file.path);
    fail_unless(found_on_path(search, 1).found);
}

/* NULL and "" are none, before and after one. */
TEST(test_no_reference, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(12));
    const gchar *const paths[] = {"", NULL, search->file.path, "", search->file.path, NULL, ""};
    for (guint i = 0; i < G_N_ELEMENTS(paths); i++) {
        const gboolean none = !paths[i] || !*paths[i];
        g_autofree gchar *path = NULL;
        search_for(search, none ? NULL : &search->picture, paths[i]);
        g_object_get(search->pair.h->element, "reference", &path, NULL);
        fail_unless_equals_string(path, paths[i]);
        fail_unless_equals_int(found_on_path(search, i).found, !none);
    }
}

/* They have no keypoints, and that is no error; nor is anything left of the one before. */
TEST(test_never_found, 1) {
    static const gint never[][2] = {{1, 40}, {40, 1}, {5, 5}, {120, 90}};
    g_autoptr(Search) search = search_new("RGB", picture_of(13));
    pair_set(&search->pair, "overlay", "outline");
    for (guint i = 0; i < G_N_ELEMENTS(never); i++) {
        g_auto(Plane) flat = plane_new(never[i][0], never[i][1]);
        g_auto(File) file = file_new("flat.pgm");
        Found found;
        write_picture(&file, &flat, 1);
        fail_unless(found_on_path(search, i).found);
        search_for(search, &flat, file.path);
        found = found_on_path(search, i);
        fail_unless(found.count > 100 && found.matches == 0 && !found.found);
        search_for(search, &search->picture, search->file.path);
    }
    assert_nothing_more(search->pair.bus);
}

/* In colour, and as a PNG. */
TEST(test_picture_formats, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(16));
    File files[] = {file_new("picture of \"this\" test!.ppm"), file_new("picture.png")};
    g_autofree gchar *quoted = g_strescape(files[0].path, NULL);
    g_autofree gchar *text = g_strdup_printf("filesrc location=\"%s\" ! pnmdec ! pngenc ! "
                                             "filesink location=%s",
                                             quoted, files[1].path);
    GstElement *pipeline;
    write_picture(&files[0], &search->picture, 3);
    pipeline = launch(text);
    reach(pipeline, GST_STATE_PLAYING);
    wait_for_eos(pipeline);
    reach(pipeline, GST_STATE_NULL);
    gst_object_unref(pipeline);
    for (guint i = 0; i < G_N_ELEMENTS(files); i++) {
        search_for(search, &search->picture, files[i].path);
        fail_unless(found_on_path(search, i).found);
        file_free(&files[i]);
    }
}

/* Once, until the property is set, or the element was stopped: meanwhile it may be gone. What
   cannot be read while frames flow leaves the one before in force. */
TEST(test_read_once, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(17));
    fail_unless(found_on_path(search, 0).found);
    g_remove(search->file.path);
    fail_unless(found_on_path(search, 1).found);
    pair_set(&search->pair, "root-sift", "true");
    fail_unless(found_on_path(search, 2).found);
    set_frames(search, "RGB", 320, 240);
    fail_unless(found_on_path(search, 3).found);
    search_for(search, &search->picture, search->file.path);
    fail_unless(found_on_path(search, 4).found);
    assert_warning(search->pair.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
                   search->file.path);
    assert_nothing_more(search->pair.bus);
    write_picture(&search->file, &search->picture, 1);
    fail_unless(found_on_path(search, 5).found);
}

/* Too many extrema count as none, and one warning says so for each time that it is learned. */
TEST(test_flooded, 1) {
    Plane dots = plane_new(500, 500);
    g_autoptr(Search) search = NULL;
    for (gint y = 0; y < dots.height; y += 3)
        for (gint x = 0; x < dots.width; x += 3)
            dots.pixels[y * dots.width + x] = (guint8)(100 + (x * 37 + y * 61) % 156);
    search = search_new("GRAY8", dots);
    pair_set(&search->pair, "contrast-threshold", "0");
    pair_set(&search->pair, "octave-layers", "8");
    set_frames(search, "GRAY8", 60, 50);
    for (guint round = 0; round < 2; round++) {
        pair_set(&search->pair, "sigma", round ? "0.8" : "0.7");
        for (guint i = 0; i < 3; i++) {
            const Found found = found_in_frame(search, scene(&search->info, NULL, NULL, i));
            fail_unless(found.count > 0 && found.matches == 0);
        }
        assert_warning(search->pair.bus, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                       search->file.path);
        fail_unless(gst_bus_pop_filtered(search->pair.bus, GST_MESSAGE_WARNING) == NULL);
    }
}

/* ---- changes ---- */

/* Another one is not found where the first is. */
TEST(test_another_reference, 1) {
    g_autoptr(Search) search = search_new("NV12", picture_of(18));
    g_auto(Plane) other = picture_of(19);
    g_auto(File) file = file_new("b.pgm");
    write_picture(&file, &other, 1);
    for (guint i = 0; i < 8; i++) {
        const guint wanted = i / 2 % 2;
        if (i % 2 == 0)
            search_for(search, wanted ? &other : &search->picture,
                       wanted ? file.path : search->file.path);
        fail_unless_equals_int(found_of(search, i % 2 ? &other : &search->picture, i).found,
                               wanted == i % 2);
    }
}

/* At what there is it is found, and above not; what there is is told all the same. */
TEST(test_min_inliers, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(20));
    gint inliers;
    pair_set(&search->pair, "overlay", "outline");
    inliers = found_on_path(search, 1).inliers;
    fail_unless(inliers > 15);
    for (guint i = 0; i < 4; i++) {
        const gint wanted[] = {inliers, inliers + 1, 65536, 4};
        g_autofree gchar *text = g_strdup_printf("%d", wanted[i]);
        Found found;
        pair_set(&search->pair, "min-inliers", text);
        found = found_on_path(search, 1);
        fail_unless_equals_int(found.inliers, inliers);
        fail_unless_equals_int(found.found, wanted[i] <= inliers);
    }
}

/* It is learned again, as frames are; descriptors are learned though they are no result. Few
   keypoints of the frame do not make the picture have few. */
TEST(test_parameters, 1) {
    static const struct {
        const gchar *name, *value;
        gboolean found;
    } changes[] = {{"match-ratio", "0.1", FALSE},  {"match-ratio", "0.75", TRUE},
                   {"root-sift", "true", TRUE},    {"upsample", "false", TRUE},
                   {"sigma", "1.5", TRUE},         {"octave-layers", "4", TRUE},
                   {"octaves", "3", TRUE},         {"max-features", "10", FALSE},
                   {"max-features", "300", TRUE},  {"max-features", "0", TRUE},
                   {"edge-threshold", "20", TRUE}, {"contrast-threshold", "0.02", TRUE},
                   {"upsample", "true", TRUE},     {"descriptors", "false", TRUE}};
    g_autoptr(Search) search = search_new("GRAY8", picture_of(22));
    for (guint i = 0; i < G_N_ELEMENTS(changes); i++) {
        pair_set(&search->pair, changes[i].name, changes[i].value);
        for (guint f = 0; f < 2; f++)
            fail_unless(found_on_path(search, 1).found == changes[i].found, "%s=%s",
                        changes[i].name, changes[i].value);
    }
}

/* With frames of any size and format, one after the other. */
TEST(test_renegotiation, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(24));
    for (guint i = 0; i < 20; i++) {
        const gboolean narrow = i % 5 == 4;
        pair_set_output(&search->pair, &search->pair.element->outputs[i % 4]);
        set_frames(search, formats[(i * 5) % G_N_ELEMENTS(formats)],
                   narrow ? 3 : 250 + (gint)(i * 37 % 200), 200 + (gint)(i * 53 % 150));
        fail_unless_equals_int(found_on_path(search, i).found, !narrow);
    }
}

/* From READY to PLAYING: every stream looks for what is in the file by then. */
TEST(test_restarts, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(26));
    g_auto(Plane) other = picture_of(27);
    GstHarness *h = search->pair.h;
    for (guint i = 0; i < 4; i++) {
        const Plane *now = i % 2 ? &other : &search->picture;
        write_picture(&search->file, now, 1);
        search->pair.model->reference = now;
        gst_element_set_state(h->element, GST_STATE_READY);
        gst_element_set_state(h->element, GST_STATE_PLAYING);
        gst_pad_push_event(h->srcpad, gst_event_new_stream_start("test"));
        set_frames(search, "GRAY8", frame_width, frame_height);
        fail_unless_equals_int(found_of(search, &search->picture, i).found, i % 2 == 0);
    }
}

MAIN(run_with_pictures(NULL))
