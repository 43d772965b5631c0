/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef GPUVISION_EXPORT_H
#define GPUVISION_EXPORT_H

/**
 * @file
 * How functions are exported.
 */
#if defined(_WIN32) || defined(__CYGWIN__)
#    if defined(GPV_BUILDING)
#        define GPV_API __declspec(dllexport)
#    else
#        define GPV_API __declspec(dllimport)
#    endif
#elif defined(__GNUC__)
#    define GPV_API __attribute__((visibility("default")))
#else
#    define GPV_API
#endif

/** On a function whose status must be looked at. */
#if defined(__GNUC__)
#    define GPV_NODISCARD __attribute__((warn_unused_result))
#else
#    define GPV_NODISCARD
#endif

#ifdef __cplusplus
#    define GPV_BEGIN extern "C" {
#    define GPV_END }
#else
#    define GPV_BEGIN
#    define GPV_END
#endif

#endif
