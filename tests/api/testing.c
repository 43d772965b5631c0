/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <sys/mman.h>
#include <unistd.h>

enum { MARGIN = 64 };

const char *format_name(gpv_format format) {
    static const char *const names[] = {
        "none",  "GRAY8", "GRAY16", "GRAYF32", "RGB8",    "BGR8",    "RGBA8",   "BGRA8", "RGBX8",
        "BGRX8", "NV12",  "I420",   "P016",    "LABEL32", "CAP32X4", "CAP32X8", "NV21",  "YUY2",
        "UYVY",  "Y444",  "ARGB8",  "ABGR8",   "XRGB8",   "XBGR8",   "RGBP8"};
    return format < COUNT(names) ? names[format] : "unknown";
}

static void keep_line(void *user, gpv_log_level level, const char *message) {
    books *keep = user;
    ck_assert_uint_ge(level, GPV_LOG_LEVEL_ERROR);
    ck_assert_uint_le(level, GPV_LOG_LEVEL_DEBUG);
    ck_assert(!strchr(message, '\n'));
    keep->lines[level]++;
    snprintf(keep->text, sizeof keep->text, "%s", message);
}

static void *give(void *user, gpv_memory memory, uint64_t size, gpv_stream stream) {
    books *keep = user;
    void *block = NULL;
    ck_assert_uint_eq(memory, GPV_MEMORY_HOST);
    ck_assert_uint_gt(size, 0);
    keep->stream = stream;
    if (++keep->allocations == keep->fail_at)
        return NULL;
    ck_assert_int_eq(posix_memalign(&block, 256, size), 0);
    memset(block, keep->fill, size);
    keep->live++;
    return block;
}

static void take_back(void *user, gpv_memory memory, void *block, gpv_stream stream) {
    books *keep = user;
    (void)stream;
    ck_assert_uint_eq(memory, GPV_MEMORY_HOST);
    ck_assert_ptr_nonnull(block);
    keep->live--;
    free(block);
}

gpv_context_params logging_params(books *keep) {
    gpv_context_params params;
    gpv_context_params_init(&params, sizeof params);
    params.backend = GPV_BACKEND_CPU;
    params.log = keep_line;
    params.user = keep;
    return params;
}

gpv_context *open_context(books *keep) {
    gpv_context *context = NULL;
    gpv_context_params params;
    memset(keep, 0, sizeof *keep);
    params = logging_params(keep);
    params.alloc = give;
    params.free = take_back;
    ck_assert_int_eq(gpv_context_create(&params, &context), GPV_OK);
    ck_assert_ptr_nonnull(context);
    return context;
}

void expect_text(const char *text, const char *parts) {
    char part[128];
    while (*parts) {
        size_t length = strcspn(parts, "|");
        ck_assert_uint_lt(length, sizeof part);
        memcpy(part, parts, length);
        part[length] = 0;
        ck_assert_msg(strstr(text, part), "\"%s\" does not say \"%s\"", text, part);
        parts += length + (parts[length] == '|');
    }
}

void expect_status(gpv_context *context, const books *keep, gpv_status status, gpv_status wanted,
                   const char *parts) {
    const char *text = gpv_context_error(context);
    ck_assert_msg(status == wanted, "status is %d, not %d; \"%s\" should say %s", status, wanted,
                  text, parts);
    if (wanted == GPV_OK)
        return;
    expect_text(text, parts);
    ck_assert_str_eq(keep->text, text);
}

void *forbidden_memory(size_t bytes) {
    void *memory = mmap(NULL, bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    ck_assert(memory != MAP_FAILED);
    return memory;
}

static size_t page_size(void) {
    return (size_t)sysconf(_SC_PAGESIZE);
}

static size_t sample_bytes(gpv_format format) {
    if (format >= GPV_FORMAT_LABEL32)
        return 4;
    return format == GPV_FORMAT_GRAY16 || format == GPV_FORMAT_P016 ? 2 : 1;
}

/* Of a PADDED image, between two rows. */
static size_t gap(gpv_format format) {
    return sample_bytes(format) == 4 ? 12 : 6;
}

static void walled_plane(picture *p, int plane, size_t row_bytes, size_t rows) {
    const size_t page = (row_bytes + page_size() - 1) / page_size() * page_size();
    size_t y;
    unsigned char *pages;
    p->span[plane] = page;
    p->size[plane] = (2 * rows + 1) * page;
    pages = forbidden_memory(p->size[plane]);
    for (y = 0; y < rows; y++) {
        unsigned char *row = pages + (2 * y + 1) * page;
        ck_assert_int_eq(mprotect(row, page, PROT_READ | PROT_WRITE), 0);
        memset(row, CANARY, page);
    }
    p->block[plane] = pages;
    p->view.data[plane] = pages + page + (p->how == WALL_RIGHT ? page - row_bytes : 0);
    p->view.stride[plane] = (int64_t)(2 * page);
}

static void heap_plane(picture *p, int plane, size_t row_bytes, size_t rows) {
    const size_t margin = p->how == PADDED ? MARGIN + sample_bytes(p->view.format) : 0;
    const size_t stride = row_bytes + (p->how == PADDED ? gap(p->view.format) : 0);
    p->size[plane] = stride * (rows - 1) + row_bytes + 2 * margin;
    p->block[plane] = malloc(p->size[plane]);
    ck_assert_ptr_nonnull(p->block[plane]);
    memset(p->block[plane], CANARY, p->size[plane]);
    p->view.data[plane] = (unsigned char *)p->block[plane] + margin;
    p->view.stride[plane] = (int64_t)stride;
}

static unsigned char *row_of(const picture *p, int plane, size_t y) {
    return (unsigned char *)p->view.data[plane] + y * (size_t)p->view.stride[plane];
}

static void shape_of(const picture *p, int plane, size_t *row_bytes, size_t *rows) {
    int64_t bytes, count;
    *row_bytes = (size_t)p->view.width;
    *rows = (size_t)p->view.height;
    if (p->view.format == GPV_FORMAT_GRAY8) /* of records, too, which no image is wide enough for */
        return;
    ck_assert_int_eq(
        gpv_format_plane(p->view.format, plane, p->view.width, p->view.height, &bytes, &count),
        GPV_OK);
    *row_bytes = (size_t)bytes;
    *rows = (size_t)count;
}

picture picture_new(gpv_format format, int width, int height, layout how) {
    picture p;
    int i;
    memset(&p, 0, sizeof p);
    gpv_image_init(&p.view, sizeof p.view);
    p.view.format = format;
    p.view.width = width;
    p.view.height = height;
    p.how = how;
    for (i = 0; i < gpv_format_planes(format); i++) {
        size_t row_bytes, rows;
        shape_of(&p, i, &row_bytes, &rows);
        if (how == WALL_LEFT || how == WALL_RIGHT)
            walled_plane(&p, i, row_bytes, rows);
        else
            heap_plane(&p, i, row_bytes, rows);
    }
    return p;
}

void picture_free(picture *p) {
    int i;
    for (i = 0; i < gpv_format_planes(p->view.format); i++)
        if (p->how == WALL_LEFT || p->how == WALL_RIGHT)
            munmap(p->block[i], p->size[i]);
        else
            free(p->block[i]);
}

void picture_fill(picture *p, unsigned seed) {
    int i;
    for (i = 0; i < gpv_format_planes(p->view.format); i++) {
        size_t row_bytes, rows, x, y;
        shape_of(p, i, &row_bytes, &rows);
        for (y = 0; y < rows; y++)
            for (x = 0; x < row_bytes; x++) {
                seed = seed * 1664525u + 1013904223u;
                row_of(p, i, y)[x] = (unsigned char)(seed >> 24);
            }
    }
}

bool picture_equal(const picture *a, const picture *b) {
    int i;
    for (i = 0; i < gpv_format_planes(a->view.format); i++) {
        size_t row_bytes, rows, y;
        shape_of(a, i, &row_bytes, &rows);
        for (y = 0; y < rows; y++)
            if (memcmp(row_of(a, i, y), row_of(b, i, y), row_bytes) != 0)
                return false;
    }
    return true;
}

bool untouched(const void *from, const void *to) {
    const unsigned char *byte = from;
    while (byte < (const unsigned char *)to)
        if (*byte++ != CANARY)
            return false;
    return true;
}

const bad_count bad_counts[BAD_COUNTS] = {{-1, " is -1,|0..1048576"},
                                          {INT32_MIN, " is -2147483648,|0..1048576"},
                                          {(1 << 20) + 1, " is 1048577,|0..1048576"},
                                          {INT32_MAX, " is 2147483647,|0..1048576"}};

const char *named(const char *name, const char *text) {
    static char all[96];
    snprintf(all, sizeof all, "%s%s", name, text);
    return all;
}

bool picture_intact(const picture *p) {
    int i;
    for (i = 0; i < gpv_format_planes(p->view.format); i++) {
        const unsigned char *block = p->block[i];
        const bool walled = p->how == WALL_LEFT || p->how == WALL_RIGHT;
        size_t row_bytes, rows, y;
        shape_of(p, i, &row_bytes, &rows);
        for (y = 0; y < rows; y++) {
            const unsigned char *row = row_of(p, i, y);
            const unsigned char *from = y ? row - gap(p->view.format) : block;
            const unsigned char *to = y + 1 < rows ? row + row_bytes : block + p->size[i];
            if (walled) {
                from = block + (2 * y + 1) * p->span[i];
                to = from + p->span[i];
            }
            if (p->how != TIGHT && !(untouched(from, row) && untouched(row + row_bytes, to)))
                return false;
        }
    }
    return true;
}

picture picture_of(gpv_format format, int width, int height, const char *text) {
    picture p = picture_new(format, width, height, TIGHT);
    const size_t sample = sample_bytes(format);
    int i;
    for (i = 0; i < gpv_format_planes(format); i++) {
        unsigned char *bytes = p.view.data[i], *const end = bytes + p.size[i];
        for (text += strspn(text, " |"); *text && *text != '|'; text += strspn(text, " ")) {
            unsigned value = *text == '#' ? 255 : *text == '?' ? 128 : 0;
            if (strchr(".#?", *text))
                text++;
            else
                value = (unsigned)strtoul(text, (char **)&text, 10);
            ck_assert(bytes + sample <= end);
            memcpy(bytes, &value, sample); /* the low bytes come first */
            bytes += sample;
        }
        ck_assert_ptr_eq(bytes, end);
    }
    ck_assert_int_eq(*text, 0);
    return p;
}

void expect_picture(picture *got, picture *want) {
    if (!picture_equal(got, want)) {
        char text[2048] = "";
        size_t k, used = 0;
        int i;
        for (i = 0; i < gpv_format_planes(got->view.format); i++)
            for (k = 0; k < got->size[i] && used < sizeof text - 8; k++)
                used +=
                    (size_t)snprintf(text + used, 8, "%d ", ((unsigned char *)got->block[i])[k]);
        ck_abort_msg("%s: got %s", format_name(got->view.format), text);
    }
    picture_free(got);
    picture_free(want);
}

gpv_image forbidden_image(void *memory) {
    gpv_image image;
    int i;
    gpv_image_init(&image, sizeof image);
    image.format = GPV_FORMAT_GRAY8;
    image.width = IMAGE_W;
    image.height = IMAGE_H;
    for (i = 0; i < GPV_MAX_PLANES; i++) {
        image.data[i] = (char *)memory + (i << 18);
        image.stride[i] = 4096;
    }
    return image;
}

gpv_buffer buffer_of(void *data, size_t size) {
    gpv_buffer buffer;
    gpv_buffer_init(&buffer, sizeof buffer);
    buffer.data = data;
    buffer.size = size;
    return buffer;
}

void expect_init_within(uint32_t known, void (*init)(void *place, uint32_t size)) {
    const uint32_t all = 2 * known + 1;
    unsigned char *whole = malloc(known), *place = malloc(all);
    init(NULL, known);
    init(whole, known);
    for (uint32_t size = 0; size < all; size++) {
        const uint32_t written = size < sizeof size ? 0 : size;
        memset(place, CANARY, all);
        init(place, size);
        if (written)
            ck_assert_mem_eq(place, &size, sizeof size);
        for (uint32_t i = sizeof size; i < written; i++)
            ck_assert_uint_eq(place[i], i < known ? whole[i] : 0);
        ck_assert(untouched(place + written, place + all));
    }
    free(whole);
    free(place);
}

void expect_struct_sizes(const char *name, uint32_t first, uint32_t known,
                         void (*init)(void *place, uint32_t size),
                         void (*expect)(const void *place, gpv_status wanted, const char *text)) {
    const struct {
        uint32_t size, set_byte;
        gpv_status status;
    } cases[] = {
        {first, 0, GPV_OK},
        {known, 0, GPV_OK},
        {known + 1, 0, GPV_OK},
        {known + 8, 0, GPV_OK},
        {4096, 0, GPV_OK},
        {known + 1, known, UNSUPPORTED},
        {known + 8, known, UNSUPPORTED},
        {4096, 4095, UNSUPPORTED},
        {0, 0, INVALID},
        {first - 1, 0, INVALID},
        {4097, 0, INVALID},
        {UINT32_MAX, 0, INVALID},
    };
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        const uint32_t real = cases[i].status == INVALID ? known : cases[i].size;
        picture wall = picture_new(GPV_FORMAT_GRAY8, (int)real, 1, WALL_RIGHT);
        unsigned char *place = wall.view.data[0];
        char text[128];
        place -= (uintptr_t)place % 8; /* a struct is aligned */
        memset(place, 0, real);
        init(place, real < known ? real : known);
        memcpy(place, &cases[i].size, sizeof cases[i].size);
        if (cases[i].set_byte)
            place[cases[i].set_byte] = 1;
        if (cases[i].status == UNSUPPORTED)
            snprintf(text, sizeof text, "%s|newer|%u", name, cases[i].set_byte);
        else
            snprintf(text, sizeof text, "%s->struct_size|is %u|%u..4096", name, cases[i].size,
                     first);
        expect(place, cases[i].status, text);
        picture_free(&wall);
    }
}

int run_tests(const char *name, void (*setup)(void), void (*teardown)(void),
              const TTest *const *tests, size_t count) {
    Suite *suite = suite_create(name);
    TCase *group = tcase_create(name);
    SRunner *runner;
    size_t i;
    int failed;
    tcase_set_timeout(group, 120);
    if (setup)
        tcase_add_checked_fixture(group, setup, teardown);
    for (i = 0; i < count; i++)
        tcase_add_test(group, tests[i]);
    suite_add_tcase(suite, group);
    runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
