/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_TYPES_H
#define GPUVISION_TYPES_H

/**
 * @file
 * Status codes, views of the caller's memory, and what is said of a parameter.
 *
 * Words used in every header:
 * - *reentrant*: may be called from any thread at any time.
 * - *one thread at a time*: a context and every object made from it may move
 *   between threads, but two threads must not be inside them at once.
 *   Different contexts never interfere.
 * - *view*: describes memory that the caller owns. The library reads the view
 *   during the call and keeps no pointer to it; the memory that it describes
 *   must live until the work enqueued by the call has finished.
 *
 * Enumerations are 32-bit integers in the interface, never C enums: the size
 * of an enum is the compiler's choice, and an unknown value must stay legal
 * for a caller in another language. Values are never renumbered or reused.
 *
 * Structs begin with struct_size, which the caller sets to sizeof the struct
 * it was compiled with (the _init functions do it). A program built against an
 * older, shorter struct gets the defaults for the fields it lacks; one built
 * against a newer, longer struct is served as long as the fields unknown to
 * this library are zero.
 */

#include <stddef.h>
#include <stdint.h>

#include <gpuvision/export.h>

GPV_BEGIN

/** Result of a call: 0 is success, negative an error, positive neither. */
typedef int32_t gpv_status;
enum {
    GPV_OK = 0,                    /**< success */
    GPV_NOT_READY = 1,             /**< not an error: the work still runs */
    GPV_ERR_INVALID_ARGUMENT = -1, /**< the error text names parameter, value and legal range */
    GPV_ERR_UNSUPPORTED = -2,      /**< legal, but not offered by this backend or this release */
    GPV_ERR_OUT_OF_MEMORY = -3,    /**< host or device memory */
    GPV_ERR_NO_DEVICE = -4,        /**< no usable CUDA device or driver */
    GPV_ERR_DEVICE = -5,           /**< CUDA reported an error */
    GPV_ERR_TOO_SMALL = -6,        /**< an output buffer is too small */
    GPV_ERR_DEVICE_LOST = -7,      /**< the CUDA context is poisoned; destroy and start anew */
    GPV_ERR_INTERNAL = -99         /**< a fault of the library: please report it */
};

/** What computes. */
typedef uint32_t gpv_backend;
enum {
    GPV_BACKEND_AUTO = 0, /**< CUDA where it can be used, else the CPU */
    GPV_BACKEND_CPU = 1,  /**< the CPU */
    GPV_BACKEND_CUDA = 2  /**< a CUDA device; an error where none can be used */
};

/** Where memory lives. */
typedef uint32_t gpv_memory;
enum {
    GPV_MEMORY_HOST = 0, /**< addressable by the CPU */
    GPV_MEMORY_CUDA = 1  /**< CUDA device memory */
};

/**
 * Pixel formats. Channel names are in the order of bytes in memory. Chroma
 * planes of NV12, NV21, I420 and P016 have (width + 1) / 2 columns and (height + 1) / 2 rows.
 * Rows of YUY2 and UYVY have (width + 1) / 2 groups of 4 bytes, for two pixels each; where the
 * width is odd, the luma that no pixel has is written as that of the last pixel.
 *
 * YV12 is I420 with the addresses of U and V exchanged. P010 and P012 are P016: their samples have
 * their bits at the upper end.
 *
 * A *picture* is an image of any of them but NONE, GRAYF32, LABEL32, CAP32X4 and CAP32X8. Where
 * colours of 8 bits are read from samples of 16, they are rounded; where they are written to such
 * samples, YUV of limited range gets eight bits of 0 at the lower end, and all else is multiplied
 * by 257.
 */
typedef uint32_t gpv_format;
enum {
    GPV_FORMAT_NONE = 0,     /**< no format: refused wherever one is read */
    GPV_FORMAT_GRAY8 = 1,    /**< uint8 */
    GPV_FORMAT_GRAY16 = 2,   /**< uint16, native byte order */
    GPV_FORMAT_GRAYF32 = 3,  /**< float */
    GPV_FORMAT_RGB8 = 4,     /**< 3 bytes a pixel */
    GPV_FORMAT_BGR8 = 5,     /**< 3 bytes a pixel */
    GPV_FORMAT_RGBA8 = 6,    /**< 4 bytes a pixel, straight alpha */
    GPV_FORMAT_BGRA8 = 7,    /**< 4 bytes a pixel, straight alpha */
    GPV_FORMAT_RGBX8 = 8,    /**< 4 bytes a pixel, the last one unused */
    GPV_FORMAT_BGRX8 = 9,    /**< 4 bytes a pixel, the last one unused */
    GPV_FORMAT_NV12 = 10,    /**< 2 planes: Y, UV interleaved */
    GPV_FORMAT_I420 = 11,    /**< 3 planes: Y, U, V */
    GPV_FORMAT_P016 = 12,    /**< 2 planes: Y, UV interleaved, uint16 */
    GPV_FORMAT_LABEL32 = 13, /**< int32: labels, or any signed value */
    GPV_FORMAT_CAP32X4 = 14, /**< 4 planes of int32, capacities to the E S W N neighbour */
    GPV_FORMAT_CAP32X8 = 15, /**< 8 planes of int32: E SE S SW W NW N NE */
    GPV_FORMAT_NV21 = 16,    /**< 2 planes: Y, VU interleaved. This and what follows: since 1.1 */
    GPV_FORMAT_YUY2 = 17,    /**< Y U Y V, 4 bytes for two pixels */
    GPV_FORMAT_UYVY = 18,    /**< U Y V Y, 4 bytes for two pixels */
    GPV_FORMAT_Y444 = 19,    /**< 3 planes of the same size: Y, U, V */
    GPV_FORMAT_ARGB8 = 20,   /**< 4 bytes a pixel, straight alpha */
    GPV_FORMAT_ABGR8 = 21,   /**< 4 bytes a pixel, straight alpha */
    GPV_FORMAT_XRGB8 = 22,   /**< 4 bytes a pixel, the first one unused */
    GPV_FORMAT_XBGR8 = 23,   /**< 4 bytes a pixel, the first one unused */
    GPV_FORMAT_RGBP8 = 24    /**< 3 planes of the same size: R, G, B */
};

/** Matrix between YUV and RGB. Read where a format has Y, U and V. */
typedef uint32_t gpv_color_matrix;
enum {
    GPV_COLOR_MATRIX_AUTO = 0,  /**< BT.709 from 720 rows on, else BT.601 */
    GPV_COLOR_MATRIX_BT601 = 1, /**< ITU-R BT.601, of standard definition */
    GPV_COLOR_MATRIX_BT709 = 2, /**< ITU-R BT.709, of high definition */
    GPV_COLOR_MATRIX_BT2020 = 3 /**< ITU-R BT.2020 with non-constant luminance */
};

/** Range of the YUV values. Read where a format has Y, U and V. */
typedef uint32_t gpv_color_range;
enum {
    GPV_COLOR_RANGE_AUTO = 0,    /**< limited */
    GPV_COLOR_RANGE_LIMITED = 1, /**< of 8 bits: Y is 16..235, U and V are 16..240 */
    GPV_COLOR_RANGE_FULL = 2     /**< all values: of 8 bits 0..255 */
};

#define GPV_MAX_PLANES 8         /**< maximum number of planes of a format */
#define GPV_MAX_SIDE 32767       /**< largest width and height, pixels */
#define GPV_MAX_PIXELS (1 << 30) /**< largest width * height */

/** View of an image. Start from gpv_image_init() or gpv_image_wrap(). */
typedef struct gpv_image {
    uint32_t struct_size;          /**< sizeof(gpv_image) */
    gpv_format format;             /**< GPV_FORMAT_* */
    gpv_memory memory;             /**< GPV_MEMORY_* of all planes */
    int32_t device;                /**< CUDA ordinal, >= 0; ignored for host memory */
    int32_t width;                 /**< pixels, 1..GPV_MAX_SIDE */
    int32_t height;                /**< pixels, 1..GPV_MAX_SIDE; width * height <= GPV_MAX_PIXELS */
    gpv_color_matrix color_matrix; /**< GPV_COLOR_MATRIX_* */
    gpv_color_range color_range;   /**< GPV_COLOR_RANGE_* */
    void *data[GPV_MAX_PLANES];    /**< first row of each plane; any alignment of whole samples */
    int64_t stride[GPV_MAX_PLANES]; /**< bytes from one row to the next, >= one row of samples */
} gpv_image;

/** A part of an image. */
typedef struct gpv_rect {
    int32_t x;      /**< left column */
    int32_t y;      /**< upper row */
    int32_t width;  /**< columns */
    int32_t height; /**< rows */
} gpv_rect;

/** View of flat memory, for results that are not images. Start from gpv_buffer_init(). */
typedef struct gpv_buffer {
    uint32_t struct_size; /**< sizeof(gpv_buffer) */
    gpv_memory memory;    /**< GPV_MEMORY_* */
    int32_t device;       /**< CUDA ordinal; ignored for host memory */
    uint32_t reserved;    /**< must be 0 */
    void *data;           /**< aligned as its elements need */
    uint64_t size;        /**< bytes */
} gpv_buffer;

/**
 * A cudaStream_t or CUstream, passed through unchanged. NULL is CUDA's default
 * stream, as everywhere in CUDA. The CPU backend ignores it.
 */
typedef void *gpv_stream;

/** What is at the offset of a field. A later version may have more kinds. Since 1.1. */
typedef uint32_t gpv_field_kind;
enum {
    GPV_FIELD_KIND_INT32 = 0,  /**< int32_t */
    GPV_FIELD_KIND_UINT32 = 1, /**< uint32_t */
    GPV_FIELD_KIND_UINT64 = 2, /**< uint64_t, of which every value is legal */
    GPV_FIELD_KIND_FLOAT = 3,  /**< float */
    GPV_FIELD_KIND_BOOL = 4,   /**< uint32_t, 0 or 1 */
    GPV_FIELD_KIND_CHOICE = 5  /**< 32 bits, which hold the value of one of the choices */
};

/**
 * One value of a field of GPV_FIELD_KIND_CHOICE. It is in arrays, and so this record stays as it
 * is. Since 1.1.
 */
typedef struct gpv_choice {
    const char *name;  /**< in lower case, such as "equal-value"; static */
    const char *text;  /**< what it means; static */
    int32_t value;     /**< what the field holds */
    uint32_t reserved; /**< 0 */
} gpv_choice;

/**
 * A field of a struct of parameters. Its texts are static.
 *
 * No legal value is below low or above high, but not all between are legal: clusters of
 * gpv_kmeans_params is never 1, threshold of gpv_homography_params never 0, and a choice is one of
 * its choices. text says so. Every value of a GPV_FIELD_KIND_UINT64 is legal; its low and high mean
 * nothing. Since 1.1.
 */
typedef struct gpv_field {
    uint32_t struct_size;      /**< sizeof(gpv_field) */
    gpv_field_kind kind;       /**< GPV_FIELD_KIND_* */
    uint32_t offset;           /**< bytes from the begin of the struct */
    uint32_t choice_count;     /**< 0 unless there are choices */
    double low;                /**< least value; of GPV_FIELD_KIND_UINT64 0 */
    double high;               /**< greatest value; of GPV_FIELD_KIND_UINT64 0 */
    double initial;            /**< default */
    const char *name;          /**< as in the struct */
    const char *unit;          /**< in the plural, such as "pixels"; "" = none */
    const char *text;          /**< what it does, in full sentences; other fields by their names */
    const gpv_choice *choices; /**< choice_count of them; static; NULL where there are none */
} gpv_field;

/**
 * Writes the defaults: all zero but struct_size.
 * @param image  written up to size bytes; NULL is ignored
 * @param size   sizeof(gpv_image)
 * Reentrant.
 */
GPV_API void gpv_image_init(gpv_image *image, uint32_t size);

/**
 * Writes the defaults: all zero but struct_size.
 * @param buffer  written up to size bytes; NULL is ignored
 * @param size    sizeof(gpv_buffer)
 * Reentrant.
 */
GPV_API void gpv_buffer_init(gpv_buffer *buffer, uint32_t size);

/**
 * Describes an image in host memory whose planes lie one behind the other.
 *
 * @param image   written up to size bytes
 * @param size    sizeof(gpv_image)
 * @param format  GPV_FORMAT_*
 * @param width   pixels
 * @param height  pixels
 * @param data    the first row of the first plane; NULL to learn only the bytes needed
 * @param stride  bytes from one row of the first plane to the next; 0 = rows
 *                without a gap. Further planes get the same stride, or one row
 *                where that is more; the U and V planes of I420 half of it,
 *                rounded up.
 * @return bytes from data to the end of the last plane, or
 *         GPV_ERR_INVALID_ARGUMENT (negative) if format, size or stride is illegal.
 * Reentrant.
 */
GPV_API int64_t gpv_image_wrap(gpv_image *image, uint32_t size, gpv_format format, int32_t width,
                               int32_t height, void *data, int64_t stride);

/** Number of planes of a format, 0 for an unknown one. Reentrant. */
GPV_API int32_t gpv_format_planes(gpv_format format);

/**
 * Size of one plane.
 *
 * @param format     GPV_FORMAT_*
 * @param plane      0 .. gpv_format_planes(format) - 1
 * @param width      of the image, pixels
 * @param height     of the image, pixels
 * @param row_bytes  out: bytes of one row without padding; may be NULL
 * @param rows       out: rows; may be NULL
 * @return GPV_OK or GPV_ERR_INVALID_ARGUMENT; then nothing is written.
 * Reentrant.
 */
GPV_API GPV_NODISCARD gpv_status gpv_format_plane(gpv_format format, int32_t plane, int32_t width,
                                                  int32_t height, int64_t *row_bytes,
                                                  int64_t *rows);

GPV_END

#endif
