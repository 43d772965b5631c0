/* SPDX-License-Identifier: BSD-2-Clause */
#include "testing.h"

/* A struct of any size at the very end of readable memory. */
static void *at_the_wall(picture *wall, const void *value, size_t known, uint32_t size) {
    unsigned char *place;
    *wall = picture_new(GPV_FORMAT_GRAY8, (int)size, 1, WALL_RIGHT);
    place = wall->view.data[0];
    memset(place, 0, size);
    memcpy(place, value, known < size ? known : size);
    return place;
}

static gpv_status create_with_size(uint32_t claimed, uint32_t real, size_t set_byte, books *keep) {
    gpv_context_params params = logging_params(keep);
    gpv_context *context = (gpv_context *)keep;
    picture wall;
    gpv_context_params *at;
    gpv_status status;
    params.struct_size = claimed;
    at = at_the_wall(&wall, &params, sizeof params, real);
    if (set_byte)
        ((unsigned char *)at)[set_byte] = 1;
    status = gpv_context_create(at, &context);
    ck_assert_int_eq(status == GPV_OK, context != NULL);
    gpv_context_destroy(&context);
    picture_free(&wall);
    return status;
}

START_TEST(versions) {
    ck_assert_uint_eq(gpv_api_version(), GPV_API_VERSION);
    expect_text(gpv_version_string(), ".|(cpu|)");
}
END_TEST

START_TEST(status_strings) {
    static const gpv_status all[] = {GPV_OK,
                                     GPV_NOT_READY,
                                     GPV_ERR_INVALID_ARGUMENT,
                                     GPV_ERR_UNSUPPORTED,
                                     GPV_ERR_OUT_OF_MEMORY,
                                     GPV_ERR_NO_DEVICE,
                                     GPV_ERR_DEVICE,
                                     GPV_ERR_TOO_SMALL,
                                     GPV_ERR_DEVICE_LOST,
                                     GPV_ERR_INTERNAL};
    const char *unknown = gpv_status_string(-12345);
    size_t i, j;
    ck_assert_uint_gt(strlen(unknown), 0);
    ck_assert_str_eq(gpv_status_string(INT32_MAX), unknown);
    for (i = 0; i < COUNT(all); i++) {
        ck_assert_uint_gt(strlen(gpv_status_string(all[i])), 0);
        ck_assert_str_ne(gpv_status_string(all[i]), unknown);
        for (j = 0; j < i; j++)
            ck_assert_str_ne(gpv_status_string(all[i]), gpv_status_string(all[j]));
    }
}
END_TEST

START_TEST(params_init_writes_every_default) {
    gpv_context_params params;
    memset(&params, 0xC5, sizeof params);
    gpv_context_params_init(&params, sizeof params);
    ck_assert_uint_eq(params.struct_size, sizeof params);
    ck_assert_uint_eq(params.backend, GPV_BACKEND_AUTO);
    ck_assert_int_eq(params.device, 0);
    ck_assert_uint_eq(params.log_level, GPV_LOG_LEVEL_WARNING);
    ck_assert(!params.log && !params.alloc && !params.free && !params.user);
    ck_assert(params.threads == 0 && params.reserved == 0);
}
END_TEST

START_TEST(params_init_stays_inside_the_size) {
    gpv_context_params whole;
    uint32_t size;
    gpv_context_params_init(NULL, sizeof whole);
    gpv_context_params_init(&whole, sizeof whole);
    for (size = 0; size <= 2 * sizeof whole; size++) {
        picture wall = picture_new(GPV_FORMAT_GRAY8, 2 * sizeof whole, 1, TIGHT);
        unsigned char *bytes = wall.view.data[0];
        const uint32_t known = size < sizeof whole ? size : sizeof whole;
        uint32_t i;
        gpv_context_params_init((gpv_context_params *)(void *)bytes, size);
        if (size >= sizeof size) {
            ck_assert_int_eq(memcmp(bytes, &size, sizeof size), 0);
            ck_assert_int_eq(memcmp(bytes + 4, (char *)&whole + 4, known - 4), 0);
        }
        /* what a newer program has in its longer struct is unset, so that we serve it */
        for (i = known; i < size && size >= sizeof size; i++)
            ck_assert_uint_eq(bytes[i], 0);
        for (i = size; i < 2 * sizeof whole; i++)
            ck_assert_uint_eq(bytes[i], 0xC5);
        picture_free(&wall);
    }
}
END_TEST

START_TEST(struct_size_rules) {
    const uint32_t known = sizeof(gpv_context_params);
    books keep = {.fail_at = 0};
    const uint32_t first = offsetof(gpv_context_params, threads);
    ck_assert_int_eq(create_with_size(first, first, 0, &keep), GPV_OK);
    ck_assert_int_eq(create_with_size(known, known, 0, &keep), GPV_OK);
    ck_assert_int_eq(create_with_size(known + 8, known + 8, 0, &keep), GPV_OK);
    ck_assert_int_eq(create_with_size(4096, 4096, 0, &keep), GPV_OK);
    ck_assert_str_eq(keep.text, "");

    ck_assert_int_eq(create_with_size(known + 8, known + 8, known, &keep), GPV_ERR_UNSUPPORTED);
    expect_text(keep.text, "params|newer|56");
    ck_assert_int_eq(create_with_size(known + 8, known + 8, known + 7, &keep), GPV_ERR_UNSUPPORTED);
    ck_assert_int_eq(create_with_size(4096, 4096, 4095, &keep), GPV_ERR_UNSUPPORTED);
    expect_text(keep.text, "params|newer|4095");

    /* no field of a struct of senseless size can be trusted, its log callback neither */
    memset(&keep, 0, sizeof keep);
    ck_assert_int_eq(create_with_size(4097, known, 0, &keep), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(create_with_size(UINT32_MAX, known, 0, &keep), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(create_with_size(0, 8, 0, &keep), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(create_with_size(8, 8, 0, &keep), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(create_with_size(first - 8, first - 8, 0, &keep), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(keep.lines[GPV_LOG_LEVEL_ERROR], 0);
}
END_TEST

START_TEST(uninitialised_params) {
    gpv_context_params params;
    gpv_context *made = NULL;
    memset(&params, 0xAA, sizeof params);
    ck_assert_int_eq(gpv_context_create(&params, &made), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_ptr_null(made);
}
END_TEST

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
    size_t i;
    for (i = 0; i < COUNT(bad); i++) {
        books keep = {.fail_at = 0};
        gpv_context_params params = logging_params(&keep);
        gpv_context *context = (gpv_context *)&keep;
        memcpy((char *)&params + bad[i].offset, &bad[i].value, sizeof bad[i].value);
        ck_assert_int_eq(gpv_context_create(&params, &context), GPV_ERR_INVALID_ARGUMENT);
        ck_assert_ptr_null(context);
        ck_assert_int_eq(keep.lines[GPV_LOG_LEVEL_ERROR], 1);
        expect_text(keep.text, bad[i].text);
    }
}
END_TEST

static void *no_memory(void *user, gpv_memory memory, uint64_t size, gpv_stream stream) {
    (void)user, (void)memory, (void)size, (void)stream;
    return NULL;
}

static void no_free(void *user, gpv_memory memory, void *block, gpv_stream stream) {
    (void)user, (void)memory, (void)block, (void)stream;
}

START_TEST(allocator_comes_in_pairs) {
    books keep = {.fail_at = 0};
    gpv_context_params params = logging_params(&keep);
    gpv_context *context = (gpv_context *)&keep;
    params.alloc = no_memory;
    ck_assert_int_eq(gpv_context_create(&params, &context), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_ptr_null(context);
    expect_text(keep.text, "params->alloc|params->free");
    params.alloc = NULL;
    params.free = no_free;
    ck_assert_int_eq(gpv_context_create(&params, &context), GPV_ERR_INVALID_ARGUMENT);
    params.alloc = no_memory;
    ck_assert_int_eq(gpv_context_create(&params, &context), GPV_OK);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(out_is_null) {
    books keep = {.fail_at = 0};
    gpv_context_params params = logging_params(&keep);
    ck_assert_int_eq(gpv_context_create(NULL, NULL), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(gpv_context_create(&params, NULL), GPV_ERR_INVALID_ARGUMENT);
    expect_text(keep.text, "out|NULL");
}
END_TEST

START_TEST(defaults) {
    gpv_context *context = NULL;
    ck_assert_int_eq(gpv_context_create(NULL, &context), GPV_OK);
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

START_TEST(cpu_backend) {
    books keep = {.fail_at = 0};
    gpv_context_params params = logging_params(&keep);
    gpv_context *context = NULL;
    params.device = 12345; /* ignored on the CPU */
    ck_assert_int_eq(gpv_context_create(&params, &context), GPV_OK);
    ck_assert_uint_eq(gpv_context_backend(context), GPV_BACKEND_CPU);
    expect_text(gpv_context_device_name(context), "CPU (|thread");
    ck_assert_int_eq(gpv_stream_sync(context, &keep), GPV_OK);
    ck_assert_int_eq(gpv_stream_follow(context, &keep, &params), GPV_OK);
    gpv_context_destroy(&context);
}
END_TEST

START_TEST(backends) {
    int32_t cuda = gpv_backend_available(GPV_BACKEND_CUDA);
    ck_assert_int_eq(gpv_backend_available(GPV_BACKEND_AUTO), 1);
    ck_assert_int_eq(gpv_backend_available(GPV_BACKEND_CPU), 1);
    ck_assert(cuda == 0 || cuda == 1);
    ck_assert_int_eq(gpv_backend_available(3), 0);
    ck_assert_int_eq(gpv_backend_available(UINT32_MAX), 0);
}
END_TEST

START_TEST(cuda_is_refused_where_there_is_none) {
    books keep = {.fail_at = 0};
    gpv_context_params params = logging_params(&keep);
    gpv_context *context = (gpv_context *)&keep;
    gpv_status status;
    params.backend = GPV_BACKEND_CUDA;
    status = gpv_context_create(&params, &context);
    if (gpv_backend_available(GPV_BACKEND_CUDA)) {
        ck_assert_int_eq(status, GPV_OK);
        ck_assert_uint_eq(gpv_context_backend(context), GPV_BACKEND_CUDA);
        gpv_context_destroy(&context);
        return;
    }
    ck_assert_msg(status == GPV_ERR_NO_DEVICE || status == GPV_ERR_UNSUPPORTED, "status %d",
                  status);
    ck_assert_ptr_null(context);
    ck_assert_int_eq(keep.lines[GPV_LOG_LEVEL_ERROR], 1);
    expect_text(keep.text, "CUDA");
}
END_TEST

START_TEST(log_levels) {
    gpv_log_level level;
    for (level = 0; level <= GPV_LOG_LEVEL_DEBUG; level++) {
        books keep = {.fail_at = 0};
        gpv_context_params params = logging_params(&keep);
        gpv_context *context = NULL;
        gpv_log_level above;
        const gpv_log_level limit = level ? level : GPV_LOG_LEVEL_WARNING;
        params.log_level = level;
        ck_assert_int_eq(gpv_context_create(&params, &context), GPV_OK);
        ck_assert_int_eq(gpv_erode_create(context, NULL, NULL), GPV_ERR_INVALID_ARGUMENT);
        ck_assert_int_eq(keep.lines[GPV_LOG_LEVEL_ERROR], 1);
        ck_assert_str_eq(keep.text, gpv_context_error(context));
        ck_assert_int_eq(keep.lines[GPV_LOG_LEVEL_INFO] > 0, limit >= GPV_LOG_LEVEL_INFO);
        for (above = limit + 1; above <= GPV_LOG_LEVEL_DEBUG; above++)
            ck_assert_int_eq(keep.lines[above], 0);
        gpv_context_destroy(&context);
    }
}
END_TEST

START_TEST(error_text_belongs_to_its_context) {
    gpv_context *first = NULL, *second = NULL;
    ck_assert_int_eq(gpv_context_create(NULL, &first), GPV_OK);
    ck_assert_int_eq(gpv_context_create(NULL, &second), GPV_OK);
    ck_assert_int_eq(gpv_erode_create(first, NULL, NULL), GPV_ERR_INVALID_ARGUMENT);
    expect_text(gpv_context_error(first), "out|NULL");
    ck_assert_str_eq(gpv_context_error(second), "");
    gpv_context_destroy(&first);
    gpv_context_destroy(&second);
}
END_TEST

START_TEST(no_context) {
    ck_assert_int_eq(gpv_stream_sync(NULL, NULL), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_int_eq(gpv_stream_follow(NULL, NULL, NULL), GPV_ERR_INVALID_ARGUMENT);
    ck_assert_uint_eq(gpv_context_backend(NULL), GPV_BACKEND_AUTO);
    ck_assert_str_eq(gpv_context_device_name(NULL), "");
    ck_assert_str_eq(gpv_context_error(NULL), "");
}
END_TEST

int main(void) {
    const TTest *const tests[] = {versions,
                                  status_strings,
                                  params_init_writes_every_default,
                                  params_init_stays_inside_the_size,
                                  struct_size_rules,
                                  uninitialised_params,
                                  bad_parameters,
                                  allocator_comes_in_pairs,
                                  out_is_null,
                                  defaults,
                                  cpu_backend,
                                  backends,
                                  cuda_is_refused_where_there_is_none,
                                  log_levels,
                                  error_text_belongs_to_its_context,
                                  no_context};
    return run_tests("context", NULL, NULL, tests, COUNT(tests));
}
