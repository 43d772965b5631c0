/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_CONTEXT_H
#define GPUVISION_CONTEXT_H

/**
 * @file
 * The context: which backend and device compute, where log lines go, who gives
 * memory, and the text of the last error.
 */

#include <gpuvision/types.h>

GPV_BEGIN

/**
 * Owned by the caller, from gpv_context_create() to gpv_context_destroy(). An
 * object made from it keeps what it needs of it: handles may be destroyed in
 * any order. One thread at a time, objects included. The CUDA context that is
 * current on the calling thread is the same after every call as before it.
 */
typedef struct gpv_context gpv_context;

/**
 * device: the CUDA context that is current on the thread that calls
 * gpv_context_create(), of whatever device and kind. It has to outlive the
 * gpv_context and all objects made from it.
 */
#define GPV_DEVICE_CURRENT (-1)

/** How much is logged: a level includes those below it. */
typedef uint32_t gpv_log_level;
enum {
    GPV_LOG_LEVEL_ERROR = 1,   /**< why a call fails */
    GPV_LOG_LEVEL_WARNING = 2, /**< what works, but not as asked: why the CPU computes, for one */
    GPV_LOG_LEVEL_INFO = 3,    /**< what computes */
    GPV_LOG_LEVEL_DEBUG = 4    /**< outputs that are too small, too, which often is a question */
};

/**
 * Takes one line, without a line end. message lives during the call. Called on
 * the thread that is inside the library; must not call back into the context.
 */
typedef void (*gpv_log_fn)(void *user, gpv_log_level level, const char *message);

/**
 * Returns size bytes aligned to 256, or NULL when there are none. Called
 * during creation, gpv_<algorithm>_prepare() and the first run of a size and
 * format. stream is that of the run; during creation and prepare it is NULL,
 * and work on any stream may use the memory as soon as this returns.
 */
typedef void *(*gpv_alloc_fn)(void *user, gpv_memory memory, uint64_t size, gpv_stream stream);
/**
 * Takes back what gpv_alloc_fn gave. Called only when no enqueued work uses the
 * memory any more; stream is the one that gpv_alloc_fn was given.
 */
typedef void (*gpv_free_fn)(void *user, gpv_memory memory, void *ptr, gpv_stream stream);

/** Parameters of a context. Start from gpv_context_params_init(). */
typedef struct gpv_context_params {
    uint32_t struct_size; /**< sizeof(gpv_context_params) */
    gpv_backend backend;  /**< default GPV_BACKEND_AUTO */
    int32_t device;       /**< CUDA ordinal >= 0, or GPV_DEVICE_CURRENT; default 0; CPU: ignored */
    gpv_log_level log_level; /**< 1..4, 0 = GPV_LOG_LEVEL_WARNING; default GPV_LOG_LEVEL_WARNING */
    gpv_log_fn log;          /**< NULL = silent; default NULL */
    gpv_alloc_fn alloc;      /**< for pixel-sized scratch; set both or none; default NULL */
    gpv_free_fn free;        /**< NULL with alloc NULL = the library's own */
    void *user;              /**< first argument of the three callbacks; default NULL */
    int32_t threads; /**< threads of the CPU backend at most, >= 0; 0 = as many as oneTBB gives the
                          calling thread; default 0. Since 1.1 */
    uint32_t reserved; /**< must be 0 */
} gpv_context_params;

/** GPV_API_VERSION of the library that runs. Reentrant. */
GPV_API uint32_t gpv_api_version(void);

/**
 * Release, revision and the backends built in, such as "0.1.0 5a4f0de (cpu, cuda)".
 * Static. Reentrant.
 */
GPV_API const char *gpv_version_string(void);

/** Name of a status in words. Static. Reentrant. */
GPV_API const char *gpv_status_string(gpv_status status);

/**
 * 1 if this backend is built in and, for CUDA, a driver and a device 0 are there; else 0.
 * GPV_BACKEND_AUTO and GPV_BACKEND_CPU are always available. Reentrant.
 */
GPV_API int32_t gpv_backend_available(gpv_backend backend);

/** Writes every default; see gpv_context_params. Reentrant. */
GPV_API void gpv_context_params_init(gpv_context_params *params, uint32_t size);

/**
 * Creates a context.
 *
 * @param params  NULL = all defaults
 * @param out     set to the context, or to NULL on failure
 * @return GPV_OK; GPV_ERR_INVALID_ARGUMENT; GPV_ERR_NO_DEVICE if CUDA was asked
 *         for and there is none, or another process has it for itself;
 *         GPV_ERR_UNSUPPORTED if this build lacks the backend;
 *         GPV_ERR_OUT_OF_MEMORY; GPV_ERR_DEVICE; GPV_ERR_DEVICE_LOST.
 *         The reason of a failure goes to the log callback.
 * Reentrant.
 */
GPV_API GPV_NODISCARD gpv_status gpv_context_create(const gpv_context_params *params,
                                                    gpv_context **out);

/** Destroys the context and sets *context to NULL. NULL and a pointer to NULL are accepted. */
GPV_API void gpv_context_destroy(gpv_context **context);

/** GPV_BACKEND_CPU or GPV_BACKEND_CUDA: what AUTO became. One thread at a time. */
GPV_API gpv_backend gpv_context_backend(const gpv_context *context);

/** Name of the processor or CUDA device. Owned by the context. One thread at a time. */
GPV_API const char *gpv_context_device_name(const gpv_context *context);

/**
 * Text of the last failure on this context or an object made from it; "" if
 * there was none. Owned by the context, valid until the next call on it. One
 * thread at a time.
 */
GPV_API const char *gpv_context_error(const gpv_context *context);

/**
 * Waits until everything enqueued on stream has finished.
 *
 * @return GPV_OK, GPV_ERR_DEVICE or GPV_ERR_DEVICE_LOST. On the CPU backend
 *         every run has finished when it returns, so this returns at once.
 * One thread at a time.
 */
GPV_API GPV_NODISCARD gpv_status gpv_stream_sync(gpv_context *context, gpv_stream stream);

/**
 * Lets work that is enqueued on stream from now on begin after all that is
 * enqueued on leader by now has finished. The host does not wait. Called twice,
 * it puts a run on stream between what fills its image on leader, and what
 * fills that again:
 *
 *     gpv_stream_follow(context, stream, leader);
 *     gpv_erode_run(erode, stream, &src, &dst);
 *     gpv_stream_follow(context, leader, stream);
 *
 * @param stream, leader  of the context's device; the same stream twice is no work. Where leader is
 *                        being captured, stream becomes part of the capture, as with CUDA's events
 * @return GPV_OK, GPV_ERR_INVALID_ARGUMENT (context is NULL), GPV_ERR_DEVICE or
 *         GPV_ERR_DEVICE_LOST. On the CPU backend there is nothing to wait for.
 * One thread at a time.
 */
GPV_API GPV_NODISCARD gpv_status gpv_stream_follow(gpv_context *context, gpv_stream stream,
                                                   gpv_stream leader);

GPV_END

#endif
