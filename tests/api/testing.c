/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

enum { CANARY = 0xC5, MARGIN = 64 };

const gpv_format picture_formats[10] = {
    GPV_FORMAT_GRAY8, GPV_FORMAT_GRAY16, GPV_FORMAT_RGB8,  GPV_FORMAT_BGR8, GPV_FORMAT_RGBA8,
    GPV_FORMAT_BGRA8, GPV_FORMAT_RGBX8,  GPV_FORMAT_BGRX8, GPV_FORMAT_NV12, GPV_FORMAT_I420,
};

const int picture_sizes[7][2] = {{1, 1}, {1, 7}, {7, 1}, {5, 3}, {33, 6}, {67, 5}, {131, 9}};

const char *format_name(gpv_format format) {
    static const char *const names[] = {"none",  "GRAY8",   "GRAY16",  "GRAYF32", "RGB8", "BGR8",
                                        "RGBA8", "BGRA8",   "RGBX8",   "BGRX8",   "NV12", "I420",
                                        "P016",  "LABEL32", "CAP32X4", "CAP32X8"};
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

void expect_error(gpv_context *context, const books *keep, gpv_status status, gpv_status wanted,
                  const char *parts) {
    const char *text = gpv_context_error(context);
    ck_assert_msg(status == wanted, "status is %d, not %d; \"%s\" should say %s", status, wanted,
                  text, parts);
    expect_text(text, parts);
    ck_assert_str_eq(keep->text, text);
}

void expect_status(gpv_context *context, const books *keep, gpv_status status, gpv_status wanted,
                   const char *parts) {
    if (wanted == GPV_OK)
        ck_assert_msg(status == GPV_OK, "status is %d: %s", status, gpv_context_error(context));
    else
        expect_error(context, keep, status, wanted, parts);
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
    const size_t page = page_size();
    size_t y;
    unsigned char *pages;
    ck_assert_uint_le(row_bytes, page);
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

static bool all_canary(const unsigned char *from, const unsigned char *to) {
    while (from < to)
        if (*from++ != CANARY)
            return false;
    return true;
}

bool picture_intact(const picture *p) {
    int i;
    for (i = 0; i < gpv_format_planes(p->view.format); i++) {
        const unsigned char *block = p->block[i];
        const size_t page = page_size();
        const bool walled = p->how == WALL_LEFT || p->how == WALL_RIGHT;
        size_t row_bytes, rows, y;
        shape_of(p, i, &row_bytes, &rows);
        for (y = 0; y < rows; y++) {
            const unsigned char *row = row_of(p, i, y);
            const unsigned char *from = y ? row - gap(p->view.format) : block;
            const unsigned char *to = y + 1 < rows ? row + row_bytes : block + p->size[i];
            if (walled) {
                from = block + (2 * y + 1) * page;
                to = from + page;
            }
            if (p->how != TIGHT && !(all_canary(from, row) && all_canary(row + row_bytes, to)))
                return false;
        }
    }
    return true;
}

uint64_t picture_hash(const picture *p, uint64_t before) {
    uint64_t sum = before ^ 1469598103934665603u;
    size_t k;
    int i;
    for (i = 0; i < gpv_format_planes(p->view.format); i++)
        for (k = 0; k < p->size[i]; k++)
            sum = (sum ^ ((unsigned char *)p->block[i])[k]) * 1099511628211u;
    return sum;
}

/* Gives the number of bytes, which may not be more than there is room for. */
static size_t parse_samples(const char *text, unsigned char *bytes, size_t room, size_t sample) {
    size_t count = 0;
    while (*text) {
        unsigned value = 0;
        if (*text == ' ') {
            text++;
            continue;
        }
        if (*text == '.' || *text == '#')
            value = *text++ == '#' ? 255 : 0;
        else
            value = (unsigned)strtoul(text, (char **)&text, 10);
        ck_assert_uint_le(count + sample, room);
        memcpy(bytes + count, &value, sample); /* the low bytes come first */
        count += sample;
    }
    return count;
}

picture picture_of(gpv_format format, int width, int height, const char *const *text) {
    picture p = picture_new(format, width, height, TIGHT);
    int i;
    for (i = 0; i < gpv_format_planes(format); i++)
        ck_assert_uint_eq(parse_samples(text[i], p.view.data[i], p.size[i], sample_bytes(format)),
                          p.size[i]);
    return p;
}

picture picture_of_plane(gpv_format format, int width, int height, const char *text) {
    return picture_of(format, width, height, &text);
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

typedef struct field {
    size_t offset, size;
    int64_t value;
} field;
#define SET(name, value)                                                                           \
    { offsetof(gpv_image, name), sizeof((gpv_image *)0)->name, (int64_t)(value) }
#define ELEMENT(name, i, value)                                                                    \
    { offsetof(gpv_image, name) + 8 * (i), 8, (int64_t)(value) }

/* What is wrong with an image of IMAGE_W x IMAGE_H. The texts lack its name, which comes first. */
static const struct {
    field fields[3];
    gpv_status status;
    bool shape; /* so that prepare refuses it, too */
    const char *text;
} faults[] = {
    {{SET(struct_size, 0)}, INVALID, true, "->struct_size|is 0|160..4096"},
    {{SET(struct_size, 159)}, INVALID, true, "->struct_size|159|160..4096"},
    {{SET(struct_size, 4097)}, INVALID, true, "->struct_size|4097|160..4096"},
    {{SET(struct_size, UINT32_MAX)}, INVALID, true, "->struct_size|4294967295|160..4096"},
    {{SET(format, GPV_FORMAT_NONE)}, INVALID, true, "->format|is 0"},
    {{SET(format, 16)}, INVALID, true, "->format|16"},
    {{SET(format, UINT32_MAX)}, INVALID, true, "->format|4294967295"},
    {{SET(format, GPV_FORMAT_GRAYF32)}, UNSUPPORTED, true, "->format|GRAYF32|GRAY8|I420"},
    {{SET(format, GPV_FORMAT_P016)}, UNSUPPORTED, true, "->format|P016|GRAY8|I420"},
    {{SET(format, GPV_FORMAT_LABEL32)}, UNSUPPORTED, true, "->format|LABEL32|GRAY8|I420"},
    {{SET(format, GPV_FORMAT_CAP32X4)}, UNSUPPORTED, true, "->format|CAP32X4|GRAY8|I420"},
    {{SET(format, GPV_FORMAT_CAP32X8)}, UNSUPPORTED, true, "->format|CAP32X8|GRAY8|I420"},
    {{SET(memory, GPV_MEMORY_CUDA)}, UNSUPPORTED, true, "->memory|CUDA|CPU"},
    {{SET(memory, 2)}, INVALID, true, "->memory|2|0..1"},
    {{SET(memory, UINT32_MAX)}, INVALID, true, "->memory|4294967295|0..1"},
    {{SET(memory, GPV_MEMORY_CUDA), SET(device, -1)}, INVALID, true, "->device|-1|0..2147483647"},
    {{SET(width, 0)}, INVALID, true, "->width|is 0|1..32767"},
    {{SET(width, -1)}, INVALID, true, "->width|-1|1..32767"},
    {{SET(width, 32768)}, INVALID, true, "->width|32768|1..32767"},
    {{SET(width, INT32_MIN)}, INVALID, true, "->width|-2147483648|1..32767"},
    {{SET(width, INT32_MAX), SET(height, 1)}, INVALID, true, "->width|2147483647|1..32767"},
    {{SET(width, 536870912), SET(height, 1), SET(format, GPV_FORMAT_RGBA8)},
     INVALID,
     true,
     "->width|536870912|1..32767"},
    {{SET(height, 0)}, INVALID, true, "->height|is 0|1..32767"},
    {{SET(height, -1)}, INVALID, true, "->height|-1|1..32767"},
    {{SET(height, 32768)}, INVALID, true, "->height|32768|1..32767"},
    {{SET(height, INT32_MIN)}, INVALID, true, "->height|-2147483648|1..32767"},
    {{SET(width, 1), SET(height, INT32_MAX)}, INVALID, true, "->height|2147483647|1..32767"},
    {{SET(width, 32767), SET(height, 32768)}, INVALID, true, "->height|32768|1..32767"},
    {{SET(color_matrix, 4)}, INVALID, true, "->color_matrix|4|0..3"},
    {{SET(color_range, 3)}, INVALID, true, "->color_range|3|0..2"},
    {{SET(color_range, UINT32_MAX)}, INVALID, true, "->color_range|4294967295|0..2"},
    {{ELEMENT(data, 0, 0)}, INVALID, false, "->data[0]|NULL"},
    {{ELEMENT(stride, 0, 0)}, INVALID, false, "->stride[0]|is 0|64..1099511627776"},
    {{ELEMENT(stride, 0, IMAGE_W - 1)}, INVALID, false, "->stride[0]|63|64.."},
    {{ELEMENT(stride, 0, -IMAGE_W)}, INVALID, false, "->stride[0]|-64|64.."},
    {{ELEMENT(stride, 0, INT64_MIN)}, INVALID, false, "->stride[0]|-9223372036854775808|64.."},
    {{ELEMENT(stride, 0, INT64_MAX)}, INVALID, false, "->stride[0]|9223372036854775807|64.."},
    {{SET(format, GPV_FORMAT_RGBA8), ELEMENT(stride, 0, 4 * IMAGE_W - 1)},
     INVALID,
     false,
     "->stride[0]|255|256.."},
    {{SET(format, GPV_FORMAT_GRAY16), ELEMENT(stride, 0, 2 * IMAGE_W + 1)},
     INVALID,
     false,
     "->data[0]|->stride[0]|2 bytes"},
    {{SET(format, GPV_FORMAT_NV12), ELEMENT(data, 1, 0)}, INVALID, false, "->data[1]|NULL"},
    {{SET(format, GPV_FORMAT_NV12), ELEMENT(stride, 1, IMAGE_W - 1)},
     INVALID,
     false,
     "->stride[1]|63|64.."},
    {{SET(format, GPV_FORMAT_NV12), SET(width, IMAGE_W - 1), ELEMENT(stride, 1, IMAGE_W - 1)},
     INVALID,
     false,
     "->stride[1]|63|64.."},
    {{SET(format, GPV_FORMAT_I420), ELEMENT(data, 2, 0)}, INVALID, false, "->data[2]|NULL"},
    {{SET(format, GPV_FORMAT_I420), ELEMENT(stride, 2, IMAGE_W / 2 - 1)},
     INVALID,
     false,
     "->stride[2]|31|32.."},
};

const int image_faults = (int)COUNT(faults);

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

void init_forbidden_image(void *place, uint32_t size) {
    const gpv_image image = forbidden_image(forbidden_memory(1 << 21));
    ck_assert_uint_eq(size, sizeof image);
    memcpy(place, &image, sizeof image);
}

static void set_fields(void *place, const field *fields, size_t count) {
    size_t i;
    for (i = 0; i < count && fields[i].size; i++) {
        const uint32_t low = (uint32_t)fields[i].value;
        memcpy((char *)place + fields[i].offset,
               fields[i].size == 8 ? (const void *)&fields[i].value : &low, fields[i].size);
    }
}

bool spoil_image(gpv_image *image, int fault) {
    set_fields(image, faults[fault].fields, COUNT(faults[fault].fields));
    return faults[fault].shape;
}

void expect_image_error(gpv_context *context, const books *keep, gpv_status status,
                        const char *name, int fault) {
    char text[256] = "";
    const char *from = faults[fault].text;
    size_t used = 0;
    for (; *from && used < sizeof text - 8; from++) {
        if (from[0] == '-' && from[1] == '>')
            used += (size_t)snprintf(text + used, 8, "%s", name);
        text[used++] = *from;
    }
    expect_error(context, keep, status, faults[fault].status, text);
}

gpv_buffer buffer_of(void *data, size_t size) {
    gpv_buffer buffer;
    gpv_buffer_init(&buffer, sizeof buffer);
    buffer.data = data;
    buffer.size = size;
    return buffer;
}

#define FIELD(name, value)                                                                         \
    { offsetof(gpv_buffer, name), sizeof((gpv_buffer *)0)->name, (int64_t)(value) }

/* What is wrong with a buffer of 4096 bytes. The texts lack its name, which comes first. */
static const struct {
    field fields[2];
    gpv_status status;
    const char *text;
} wrong_buffers[] = {
    {{FIELD(struct_size, 0)}, INVALID, "->struct_size|is 0|32..4096"},
    {{FIELD(struct_size, 31)}, INVALID, "->struct_size|31|32..4096"},
    {{FIELD(struct_size, 4097)}, INVALID, "->struct_size|4097|32..4096"},
    {{FIELD(memory, GPV_MEMORY_CUDA)}, UNSUPPORTED, "->memory|CUDA|CPU"},
    {{FIELD(memory, 2)}, INVALID, "->memory|2|0..1"},
    {{FIELD(memory, UINT32_MAX)}, INVALID, "->memory|4294967295|0..1"},
    {{FIELD(memory, GPV_MEMORY_CUDA), FIELD(device, -1)}, INVALID, "->device|-1|0..2147483647"},
    {{FIELD(reserved, 1)}, INVALID, "->reserved|is 1|0..0"},
    {{FIELD(data, 0)}, INVALID, "->data|NULL"},
    {{FIELD(size, 0)}, INVALID, "->size|is 0"},
    {{FIELD(size, 3)}, INVALID, "->size|is 3"},
    {{FIELD(size, UINT64_MAX)}, INVALID, "->size|18446744073709551615"},
    {{FIELD(size, (uint64_t)1 << 63)}, INVALID, "->size|9223372036854775808"},
};

const int buffer_faults = (int)COUNT(wrong_buffers);

gpv_buffer spoiled_buffer(gpv_buffer buffer, int fault) {
    set_fields(&buffer, wrong_buffers[fault].fields, COUNT(wrong_buffers[fault].fields));
    return buffer;
}

void expect_buffer_error(gpv_context *context, const books *keep, gpv_status status,
                         const char *name, int fault) {
    char text[128];
    snprintf(text, sizeof text, "%s%s", name, wrong_buffers[fault].text);
    expect_error(context, keep, status, wrong_buffers[fault].status, text);
}

void expect_init_within(uint32_t size, void (*init)(void *place, uint32_t size)) {
    unsigned char *place = malloc(size);
    uint32_t i;
    ck_assert_ptr_nonnull(place);
    init(NULL, size);
    for (i = 0; i < size; i++) {
        memset(place, CANARY, size);
        init(place, i);
        ck_assert_uint_eq(place[i], CANARY);
    }
    free(place);
}

void expect_struct_sizes(const char *name, uint32_t first, void (*init)(void *place, uint32_t size),
                         void (*expect)(const void *place, gpv_status wanted, const char *text)) {
    const struct {
        uint32_t size, set_byte;
        gpv_status status;
    } cases[] = {
        {first, 0, GPV_OK},
        {first + 1, 0, GPV_OK},
        {first + 8, 0, GPV_OK},
        {4096, 0, GPV_OK},
        {first + 1, first, UNSUPPORTED},
        {first + 8, first, UNSUPPORTED},
        {4096, 4095, UNSUPPORTED},
        {0, 0, INVALID},
        {first - 1, 0, INVALID},
        {4097, 0, INVALID},
        {UINT32_MAX, 0, INVALID},
    };
    size_t i;
    for (i = 0; i < COUNT(cases); i++) {
        const uint32_t real = cases[i].status == INVALID ? first : cases[i].size;
        picture wall = picture_new(GPV_FORMAT_GRAY8, (int)real, 1, WALL_RIGHT);
        unsigned char *place = wall.view.data[0];
        char text[128];
        place -= (uintptr_t)place % 8; /* a struct is aligned */
        memset(place, 0, real);
        init(place, first);
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

/* Whether one byte belongs to two rectangles of one parent. */
static bool share(int dx, int dy, int width, int height) {
    return abs(dx) < width && abs(dy) < height;
}

void expect_overlaps_refused(gpv_context *context, const books *keep, const char *name,
                             gpv_status (*run)(const gpv_image *src, const gpv_image *dst),
                             bool in_place) {
    enum { PITCH = 101, ROWS = 40, WIDTH = 30, HEIGHT = 12 };
    unsigned char parent[PITCH * ROWS], before[PITCH * ROWS];
    gpv_image src, dst;
    char text[32];
    int dx, dy, ran = 0, refused = 0;
    snprintf(text, sizeof text, "%s|overlaps|src", name);
    for (dy = -14; dy <= 14; dy++)
        for (dx = -35; dx <= 35; dx++) {
            size_t i;
            unsigned char *from = parent + 14 * PITCH + 35;
            unsigned char *to = from + dy * PITCH + dx;
            gpv_status status;
            bool intact;
            for (i = 0; i < sizeof parent; i++)
                parent[i] = before[i] = (unsigned char)(i * 2654435761u >> 13);
            gpv_image_wrap(&src, sizeof src, GPV_FORMAT_GRAY8, WIDTH, HEIGHT, from, PITCH);
            gpv_image_wrap(&dst, sizeof dst, GPV_FORMAT_GRAY8, WIDTH, HEIGHT, to, PITCH);
            status = run(&src, &dst);
            if (share(dx, dy, WIDTH, HEIGHT) && (dx || dy || !in_place)) {
                expect_error(context, keep, status, INVALID, text);
                ck_assert_int_eq(memcmp(parent, before, sizeof parent), 0);
                refused++;
                continue;
            }
            ck_assert_int_eq(status, GPV_OK);
            intact = true;
            for (i = 0; i < sizeof parent; i++) {
                const int x = (int)(i % PITCH) - 35 - dx, y = (int)(i / PITCH) - 14 - dy;
                const bool inside = x >= 0 && x < WIDTH && y >= 0 && y < HEIGHT;
                intact = intact && (inside || parent[i] == before[i]);
            }
            ck_assert(intact);
            ran++;
        }
    ck_assert_int_eq(refused, 59 * 23 - in_place);
    ck_assert_int_eq(ran, 71 * 29 - refused);
}

void expect_same_in_threads(void *(*work)(void *hash)) {
    enum { THREADS = 2 };
    uint64_t alone, together[THREADS];
    pthread_t thread[THREADS];
    int i;
    work(&alone);
    for (i = 0; i < THREADS; i++)
        ck_assert_int_eq(pthread_create(&thread[i], NULL, work, &together[i]), 0);
    for (i = 0; i < THREADS; i++)
        pthread_join(thread[i], NULL);
    ck_assert_uint_ne(alone, 0);
    for (i = 0; i < THREADS; i++)
        ck_assert_uint_eq(together[i], alone);
}

int run_suite(Suite *suite) {
    SRunner *runner = srunner_create(suite);
    int failed;
    srunner_run_all(runner, CK_NORMAL);
    failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
