/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A picture that gpusift looks for: where it was put, beside the library called directly on the
 * same frames, and in pipelines; on the backend GPV_TEST_BACKEND, or on the CPU. With
 * GST_TRACERS=leaks every test also fails on objects that are alive after it.
 */
#include "elements.h"

#include <math.h>

enum { picture_width = 200, picture_height = 150, frame_width = 400, frame_height = 300 };

/* ---- pictures and frames ---- */

static Plane picture_of(gint seed) {
    Plane plane = plane_new(picture_width, picture_height);
    for (gint i = 0; i < plane.width * plane.height; i++)
        plane.pixels[i] = squares(i % plane.width, i / plane.width, seed);
    return plane;
}

/* Of a picture whose first pixel lies there, or, upside down, its last one. */
typedef struct {
    const Plane *picture; /* NULL: it is nowhere */
    gint left, top;
    gboolean turned;
    gint seed; /* of what is round it */
} Scene;

static guint32 scene_at(gint x, gint y, gconstpointer user) {
    const Scene *scene = user;
    const Plane *picture = scene->picture;
    gint u = x - scene->left, v = y - scene->top;
    if (!picture || u < 0 || v < 0 || u >= picture->width || v >= picture->height)
        return squares(x, y, 1000 + scene->seed) * 0x10101u;
    u = scene->turned ? picture->width - 1 - u : u;
    v = scene->turned ? picture->height - 1 - v : v;
    return picture->pixels[v * picture->width + u] * 0x10101u;
}

/* About the middle, and partly out of small frames. */
static Scene scene_of(const GstVideoInfo *info, const Plane *picture, gint step) {
    return (Scene){picture, (info->width - picture_width) / 2 + step * 37 % 81 - 40,
                   (info->height - picture_height) / 2 + step * 53 % 61 - 30, step % 2, step};
}

static void assert_corners(const GstStructure *results, const Scene *scene, gdouble wide,
                           gdouble high) {
    for (guint i = 0; i < 4; i++) {
        const GstStructure *corner = structure_at(results, "corners", i);
        const gboolean right = (i == 1 || i == 2) != scene->turned;
        const gboolean below = (i >= 2) != scene->turned;
        const gdouble x = wide * (scene->left + right * picture_width) - 0.5;
        const gdouble y = high * (scene->top + below * picture_height) - 0.5;
        fail_unless(fabs(double_field(corner, "cx") - x) < wide * 0.5 &&
                        fabs(double_field(corner, "cy") - y) < high * 0.5,
                    "corner %u is at %g,%g, not %g,%g", i, double_field(corner, "cx"),
                    double_field(corner, "cy"), x, y);
    }
}

/* ---- an element that looks for a picture ---- */

typedef struct {
    Pair pair;
    Plane picture;
    File file;
} Search;

static void search_for(Search *search, const Plane *picture, const gchar *path) {
    g_object_set(search->pair.h->element, "reference", path, NULL);
    search->pair.model->reference = picture;
}

static void set_frames(Search *search, const gchar *format, gint width, gint height) {
    const GstVideoInfo info = make_info(format, width, height);
    pair_set_info(&search->pair, &info);
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
    g_autoptr(GstBuffer) out = pair_push(&search->pair, frame, search->pair.count % 2);
    const GstStructure *results = results_of(out, "gpusift");
    Found found = {FALSE, int_field(results, "count"), -1, -1};
    if (gst_structure_get_boolean(results, "found", &found.found)) {
        found.matches = int_field(results, "matches");
        found.inliers = int_field(results, "inliers");
    }
    return found;
}

static GstBuffer *frame_of(const Search *search, const Plane *picture, gint step) {
    const Scene scene = scene_of(&search->pair.info, picture, step);
    return painted_frame(&search->pair.info, scene_at, &scene);
}

static Found found_at(Search *search, gint step) {
    return found_in_frame(search, frame_of(search, &search->picture, step));
}

/* ---- where it is ---- */

TEST(test_places, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(1));
    for (gint i = 0; i < 12; i++) {
        const Scene scene = scene_of(&search->pair.info, i % 6 == 5 ? NULL : &search->picture, i);
        GstBuffer *frame = painted_frame(&search->pair.info, scene_at, &scene);
        g_autoptr(GstBuffer) out = pair_push(&search->pair, frame, FALSE);
        gboolean found = FALSE;
        fail_unless(gst_structure_get_boolean(results_of(out, "gpusift"), "found", &found));
        fail_unless_equals_int(found, scene.picture != NULL);
        if (found)
            assert_corners(results_of(out, "gpusift"), &scene, 1, 1);
    }
}

/* Its plane goes through the camera, where x is 300. */
static guint32 impossible_at(gint x, gint y, gconstpointer user) {
    const Plane *picture = user;
    const gdouble u = (x - 20) / (1 + x / 300.0), v = y * (1 - u / 300) - 70;
    const gint column = (gint)floor(u + 0.5), row = (gint)floor(v + 0.5);
    return column < 0 || row < 0 || row >= picture->height
               ? squares(x, y, 1000)
               : picture->pixels[row * picture->width + column];
}

/* That is no picture that is seen, however many matches agree: those of its left part. */
TEST(test_impossible_place, 1) {
    Plane picture = plane_new(400, picture_height);
    g_autoptr(Search) search = NULL;
    Found found;
    for (gint i = 0; i < picture.width * picture.height; i++)
        picture.pixels[i] = i % 400 < 150 ? squares(i % picture.width, i / picture.width, 3) : 128;
    search = search_new("GRAY8", picture);
    search->pair.model->impossible = TRUE;
    pair_set(&search->pair, "overlay", "outline");
    found = found_in_frame(search, painted_frame(&search->pair.info, impossible_at, &picture));
    fail_unless(found.inliers >= 15 && !found.found, "%d inliers", found.inliers);
}

/* Corners and homography are those of the frame that they are on. */
TEST(test_results_are_scaled, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(4));
    const Scene scene = scene_of(&search->pair.info, &search->picture, 3);
    g_autofree gchar *text = g_strdup_printf("gpusift backend=%s reference=%s ! videoscale ! "
                                             "capsfilter caps=video/x-raw,width=600,height=150",
                                             test_backend(), search->file.path);
    const GstVideoInfo *info = &search->pair.info;
    g_autoptr(GstBuffer) out = push_through(text, info, painted_frame(info, scene_at, &scene));
    const GValue *matrix;
    gdouble m[9], at[2];
    assert_corners(results_of(out, "gpusift"), &scene, 1.5, 0.5);
    matrix = gst_structure_get_value(results_of(out, "gpusift"), "homography");
    for (guint i = 0; i < 9; i++)
        m[i] = g_value_get_double(gst_value_array_get_value(matrix, i));
    corner_of(m, picture_width, picture_height, 2, at);
    fail_unless(fabs(at[0] - (1.5 * scene.left - 0.5)) < 0.75);
    fail_unless(fabs(at[1] - (0.5 * scene.top - 0.5)) < 0.25);
}

/* ---- what is drawn and told ---- */

/* Found and not, in every overlay and colour, and in frames of any size, one after the other. */
TEST(test_formats, some_of(usual_formats)) {
    g_autoptr(Search) search = search_new(formats[__i__], picture_of(5));
    for (guint i = 0; i < 2 * search->pair.element->output_count; i++) {
        g_autofree gchar *color = g_strdup_printf("%u", 0x204060 + 0x30100 * i);
        Found found;
        set_frames(search, formats[(i + (guint)__i__) % G_N_ELEMENTS(formats)],
                   i == 5 && __i__ % 3 == 0 ? 3 : 280 + (gint)(i * 37 % 200),
                   220 + (gint)(i * 53 % 150));
        pair_set_output(&search->pair, &search->pair.element->outputs[i / 2]);
        pair_set(&search->pair, "color", color);
        found = found_in_frame(search, frame_of(search, i % 2 ? NULL : &search->picture, (gint)i));
        fail_unless_equals_int(found.found, !(i % 2));
        fail_unless(i % 2 || found.inliers > 100, "%d inliers", found.inliers);
    }
}

/* By eye: a line between the corners, and nothing away from them. */
TEST(test_outline, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(6));
    const GstVideoInfo *info = &search->pair.info;
    const Scene scene = scene_of(info, &search->picture, 2);
    GstBuffer *in = painted_frame(info, scene_at, &scene);
    g_autoptr(GstBuffer) out = NULL;
    g_auto(Plane) before = plane_of(info, in), after = {0};
    const gint right = scene.left + picture_width, bottom = scene.top + picture_height;
    guint drawn = 0;
    pair_set(&search->pair, "overlay", "outline");
    out = pair_push(&search->pair, in, FALSE);
    after = plane_of(info, out);
    for (gint i = 0; i < frame_width * frame_height; i++) {
        const gint x = i % frame_width, y = i / frame_width;
        const gint from_sides = MIN(ABS(x - scene.left), ABS(x - right));
        const gint from_ends = MIN(ABS(y - scene.top), ABS(y - bottom));
        fail_unless(after.pixels[i] == before.pixels[i] || MIN(from_sides, from_ends) <= 5);
        drawn += after.pixels[i] == 149 && before.pixels[i] != 149; /* green */
    }
    fail_unless(drawn > 2 * 2 * (picture_width + picture_height) * 9 / 10, "%u pixels", drawn);
}

/* In the metadata, on the bus, in pixels, and in neither; and frames are counted. */
TEST(test_wanted, 1) {
    g_autoptr(Search) search = search_new("NV12", picture_of(7));
    for (guint i = 0; i < 4 * search->pair.element->output_count; i++) {
        pair_set_output(&search->pair, &search->pair.element->outputs[i / 4]);
        pair_check_wanted(&search->pair, frame_of(search, &search->picture, 2), i & 1, i >> 1 & 1);
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
    fail_unless(found_at(search, 1).found);
}

/* NULL and "" are none; another one is not found where the first is, nor is a flat one, which has
   no keypoints, and that is no error. Nothing is left of the one before. */
TEST(test_other_references, 1) {
    static const gint flat[][2] = {{1, 40}, {40, 1}, {5, 5}, {120, 90}};
    enum { others = G_N_ELEMENTS(flat) + 3 };
    g_autoptr(Search) search = search_new("RGB", picture_of(12));
    for (gint i = 0; i < others; i++) {
        const gint *size = flat[i % (gint)G_N_ELEMENTS(flat)];
        g_auto(Plane) other = i == 4 ? picture_of(19) : plane_new(size[0], size[1]);
        g_auto(File) file = file_new("other.pgm");
        const gchar *path = i < 5 ? file.path : i == 5 ? "" : NULL;
        g_autofree gchar *set = NULL;
        Found found;
        write_picture(&file, &other, 1);
        pair_set(&search->pair, "overlay", i < 5 ? "outline" : "none");
        fail_unless(found_at(search, i).found);
        search_for(search, i < 5 ? &other : NULL, path);
        g_object_get(search->pair.h->element, "reference", &set, NULL);
        fail_unless_equals_string(set, path);
        found = found_at(search, i);
        fail_unless(found.count > 100 && !found.found);
        fail_unless(i >= 4 || found.matches == 0, "%d matches", found.matches);
        fail_unless(i != 4 || found_in_frame(search, frame_of(search, &other, i)).found);
        search_for(search, &search->picture, search->file.path);
    }
    assert_nothing_more(search->pair.bus);
}

/* Once, until the property is set, or the element was stopped: meanwhile it may be gone. What
   cannot be read while frames flow leaves the one before in force. */
TEST(test_read_once, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(17));
    fail_unless(found_at(search, 0).found);
    g_remove(search->file.path);
    fail_unless(found_at(search, 1).found);
    pair_set(&search->pair, "root-sift", "true");
    fail_unless(found_at(search, 2).found);
    set_frames(search, "RGB", 320, 240);
    fail_unless(found_at(search, 3).found);
    search_for(search, &search->picture, search->file.path);
    fail_unless(found_at(search, 4).found);
    assert_warning(search->pair.bus, GST_RESOURCE_ERROR, GST_RESOURCE_ERROR_OPEN_READ,
                   search->file.path);
    assert_nothing_more(search->pair.bus);
    write_picture(&search->file, &search->picture, 1);
    fail_unless(found_at(search, 5).found);
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
        for (gint i = 0; i < 3; i++) {
            const Found found = found_in_frame(search, frame_of(search, NULL, i));
            fail_unless(found.count > 0 && found.matches == 0);
        }
        assert_warning(search->pair.bus, GST_STREAM_ERROR, GST_STREAM_ERROR_FAILED,
                       search->file.path);
        fail_unless(gst_bus_pop_filtered(search->pair.bus, GST_MESSAGE_WARNING) == NULL);
    }
}

/* ---- changes ---- */

/* At what there is it is found, and above not; what there is is told all the same. */
TEST(test_min_inliers, 1) {
    g_autoptr(Search) search = search_new("GRAY8", picture_of(20));
    gint inliers;
    pair_set(&search->pair, "overlay", "outline");
    inliers = found_at(search, 1).inliers;
    fail_unless(inliers > 15);
    for (guint i = 0; i < 4; i++) {
        const gint wanted[] = {inliers, inliers + 1, 65536, 4};
        g_autofree gchar *text = g_strdup_printf("%d", wanted[i]);
        Found found;
        pair_set(&search->pair, "min-inliers", text);
        found = found_at(search, 1);
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
    } changes[] = {{"match-ratio", "0.1", TRUE},   {"match-ratio", "0.75", TRUE},
                   {"root-sift", "true", TRUE},    {"upsample", "false", TRUE},
                   {"sigma", "1.5", TRUE},         {"octave-layers", "4", TRUE},
                   {"octaves", "3", TRUE},         {"max-features", "10", FALSE},
                   {"max-features", "300", TRUE},  {"max-features", "0", TRUE},
                   {"edge-threshold", "20", TRUE}, {"contrast-threshold", "0.02", TRUE},
                   {"upsample", "true", TRUE},     {"descriptors", "false", TRUE}};
    g_autoptr(Search) search = search_new("GRAY8", picture_of(22));
    gint matches[G_N_ELEMENTS(changes)];
    for (guint i = 0; i < G_N_ELEMENTS(changes); i++) {
        pair_set(&search->pair, changes[i].name, changes[i].value);
        for (guint f = 0; f < 2; f++) {
            const Found found = found_at(search, 1);
            fail_unless(found.found == changes[i].found, "%s=%s", changes[i].name,
                        changes[i].value);
            matches[i] = found.matches;
        }
    }
    fail_unless(matches[0] < matches[1], "match-ratio: %d, then %d", matches[0], matches[1]);
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
        fail_unless_equals_int(found_at(search, i).found, i % 2 == 0);
    }
}

MAIN(run_with_pictures(NULL))
