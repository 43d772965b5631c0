/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

CONTEXT

INIT(context_params)

/* With a log, as far as the struct goes. */
static void init_logging(void *place, uint32_t size) {
    const gpv_context_params params = logging_params(&keep);
    memcpy(place, &params, size < sizeof params ? size : sizeof params);
}

/* A refusal is logged, but none of a struct whose size makes no sense: its callback neither can be
 * trusted. */
static void expect_params(const void *params, gpv_status wanted, const char *text) {
    memset(&keep, 0, sizeof keep);
    context = (gpv_context *)&keep;
    ck_assert_int_eq(gpv_context_create(params, &context), wanted);
    ck_assert_int_eq(wanted == GPV_OK, context != NULL);
    ck_assert_int_eq(keep.lines[GPV_LOG_LEVEL_ERROR], *text != 0);
    expect_text(keep.text, text);
    gpv_context_destroy(&context);
    ck_assert_ptr_null(context);
}

static void expect_params_at(const void *params, gpv_status wanted, const char *text) {
    expect_params(params, wanted, wanted == UNSUPPORTED ? text : "");
}

static gpv_context *made(const gpv_context_params *params) {
    gpv_context *result = NULL;
    ck_assert_int_eq(gpv_context_create(params, &result), GPV_OK);
    return result;
}

START_TEST(versions) {
    ck_assert_uint_eq(gpv_api_version(), GPV_API_VERSION);
    expect_text(gpv_version_string(), ".|(cpu|)");
}
END_TEST

START_TEST(status_strings) {
    const char *texts[11] = {gpv_status_string(-12345), gpv_status_string(GPV_ERR_INTERNAL)};
    size_t count = 2;
    ck_assert_str_eq(gpv_status_string(INT32_MAX), texts[0]);
    for (gpv_status i = GPV_ERR_DEVICE_LOST; i <= GPV_NOT_READY; i++)
        texts[count++] = gpv_status_string(i);
    for (size_t i = 0; i < count; i++) {
        ck_assert_uint_gt(strlen(texts[i]), 0);
        for (size_t j = 0; j < i; j++)
            ck_assert_str_ne(texts[i], texts[j]);
    }
}
END_TEST

START_TEST(params_of_all_ages) {
    picture wall = picture_new(GPV_FORMAT_GRAY8, 8, 1, WALL_RIGHT);
    gpv_context_params params;
    memset(&params, CANARY, sizeof params);
    gpv_context_params_init(&params, sizeof params);
    ck_assert_uint_eq(params.struct_size, sizeof params);
    ck_assert_uint_eq(params.backend, GPV_BACKEND_AUTO);
    ck_assert_int_eq(params.device, 0);
    ck_assert_uint_eq(params.log_level, GPV_LOG_LEVEL_WARNING);
    ck_assert(!params.log && !params.alloc && !params.free && !params.user);
    ck_assert(params.threads == 0 && params.reserved == 0);
    expect_init_within(sizeof params, init_context_params);
    expect_struct_sizes("params", 48, sizeof params, init_logging, expect_params_at);
    memcpy(wall.view.data[0], (uint32_t[]){8, 0}, 8);
    expect_params(wall.view.data[0], INVALID, "");
    memset(&params, 0xAA, sizeof params);
    expect_params(&params, INVALID, "");
    picture_free(&wall);
}
END_TEST

static void *no_memory(void *user, gpv_memory memory, uint64_t size, gpv_stream stream) {
    (void)user, (void)memory, (void)size, (void)stream;
    return NULL;
}

static void no_free(void *user, gpv_memory memory, void *block, gpv_stream stream) {
    (void)user, (void)memory, (void)block, (void)stream;
}

START_TEST(bad_parameters) {
    static const struct {
        size_t offset;
        uint32_t value;
        const char *text;
    } bad[] = {
        {offsetof(gpv_context_params, backend), 3, "params->backend|3|0..2"},
        {offsetof(gpv_context_params, backend), UINT32_MAX, "params->backend|4294967295|0..2"},
        {offsetof(gpv_context_params, device), (uint32_t)-2, "params->device|-2|-1..2147483647"},
        {offsetof(gpv_context_params, device), 0x80000000u, "params->device|-2147483648|-1.."},
        {offsetof(gpv_context_params, log_level), 5, "params->log_level|5|0..4"},
        {offsetof(gpv_context_params, log_level), UINT32_MAX, "params->log_level|4294967295|0..4"},
        {offsetof(gpv_context_params, threads), UINT32_MAX, "params->threads|-1|0..2147483647"},
        {offsetof(gpv_context_params, reserved), 1, "params->reserved|1|0..0"},
    };
    gpv_context_params params;
    for (size_t i = 0; i < COUNT(bad); i++) {
        params = logging_params(&keep);
        memcpy((char *)&params + bad[i].offset, &bad[i].value, sizeof bad[i].value);
        expect_params(&params, INVALID, bad[i].text);
    }
    params = logging_params(&keep);
    params.alloc = no_memory;
    expect_params(&params, INVALID, "params->alloc|params->free");
    params.free = no_free;
    expect_params(&params, GPV_OK, "");
    params.alloc = NULL;
    expect_params(&params, INVALID, "params->alloc|params->free");
    ck_assert_int_eq(gpv_context_create(NULL, NULL), INVALID);
    params = logging_params(&keep);
    ck_assert_int_eq(gpv_context_create(&params, NULL), INVALID);
    expect_text(keep.text, "out|NULL");
}
END_TEST

START_TEST(defaults) {
    context = made(NULL);
    ck_assert_uint_eq(gpv_context_backend(context),
                      gpv_backend_available(GPV_BACKEND_CUDA) ? GPV_BACKEND_CUDA : GPV_BACKEND_CPU);
    ck_assert_uint_gt(strlen(gpv_context_device_name(context)), 0);
    ck_assert_str_eq(gpv_context_error(context), "");
    ck_assert_int_eq(gpv_stream_sync(context, NULL), GPV_OK);
    ck_assert_int_eq(gpv_stream_follow(context, NULL, NULL), GPV_OK);
    gpv_context_destroy(&context);
    ck_assert_ptr_null(context);
    gpv_context_destroy(&context);
    gpv_context_destroy(NULL);
}
END_TEST

START_TEST(backends) {
    const int32_t cuda = gpv_backend_available(GPV_BACKEND_CUDA);
    gpv_context_params params = logging_params(&keep);
    gpv_status status;
    ck_assert_int_eq(gpv_backend_available(GPV_BACKEND_AUTO), 1);
    ck_assert_int_eq(gpv_backend_available(GPV_BACKEND_CPU), 1);
    ck_assert(cuda == 0 || cuda == 1);
    ck_assert_int_eq(gpv_backend_available(3), 0);
    ck_assert_int_eq(gpv_backend_available(UINT32_MAX), 0);
    params.device = 12345; /* ignored on the CPU */
    context = made(&params);
    ck_assert_uint_eq(gpv_context_backend(context), GPV_BACKEND_CPU);
    expect_text(gpv_context_device_name(context), "CPU (|thread");
    ck_assert_int_eq(gpv_stream_sync(context, &keep), GPV_OK);
    ck_assert_int_eq(gpv_stream_follow(context, &keep, &params), GPV_OK);
    gpv_context_destroy(&context);
    params.device = 0;
    params.backend = GPV_BACKEND_CUDA;
    if (cuda) {
        context = made(&params);
        ck_assert_uint_eq(gpv_context_backend(context), GPV_BACKEND_CUDA);
        gpv_context_destroy(&context);
        return;
    }
    status = gpv_context_create(&params, &context);
    ck_assert(status == GPV_ERR_NO_DEVICE || status == UNSUPPORTED);
    expect_params(&params, status, "CUDA");
}
END_TEST

START_TEST(log_levels) {
    for (gpv_log_level level = 0; level <= GPV_LOG_LEVEL_DEBUG; level++) {
        gpv_context_params params = logging_params(&keep);
        const gpv_log_level limit = level ? level : GPV_LOG_LEVEL_WARNING;
        memset(&keep, 0, sizeof keep);
        params.log_level = level;
        context = made(&params);
        refused(gpv_erode_create(context, NULL, NULL), "out|NULL");
        ck_assert_int_eq(keep.lines[GPV_LOG_LEVEL_ERROR], 1);
        ck_assert_int_eq(keep.lines[GPV_LOG_LEVEL_INFO] > 0, limit >= GPV_LOG_LEVEL_INFO);
        for (gpv_log_level above = limit + 1; above <= GPV_LOG_LEVEL_DEBUG; above++)
            ck_assert_int_eq(keep.lines[above], 0);
        gpv_context_destroy(&context);
    }
}
END_TEST

START_TEST(error_text_belongs_to_its_context) {
    gpv_context *first = made(NULL), *second = made(NULL);
    ck_assert_int_eq(gpv_erode_create(first, NULL, NULL), INVALID);
    expect_text(gpv_context_error(first), "out|NULL");
    ck_assert_str_eq(gpv_context_error(second), "");
    gpv_context_destroy(&first);
    gpv_context_destroy(&second);
}
END_TEST

START_TEST(no_context) {
    ck_assert_int_eq(gpv_stream_sync(NULL, NULL), INVALID);
    ck_assert_int_eq(gpv_stream_follow(NULL, NULL, NULL), INVALID);
    ck_assert_uint_eq(gpv_context_backend(NULL), GPV_BACKEND_AUTO);
    ck_assert_str_eq(gpv_context_device_name(NULL), "");
    ck_assert_str_eq(gpv_context_error(NULL), "");
}
END_TEST

RUN_TESTS("context", NULL, NULL, versions, status_strings, params_of_all_ages, bad_parameters,
          defaults, backends, log_levels, error_text_belongs_to_its_context, no_context)
