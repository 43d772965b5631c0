/* SPDX-License-Identifier: BSD-2-Clause */
/* Random changes of the properties that may change while frames of 64x48 flow. */
#ifndef TESTS_GST_PROPERTIES_H
#define TESTS_GST_PROPERTIES_H

#include "helpers.h"

typedef struct {
    const gchar *picture;
    GPtrArray *elements, *specs; /* one of each for every property that is live */
} Properties;
Properties properties_new(const gchar *picture);
void properties_free(Properties *properties);
void add_properties(Properties *properties, GstElement *bin, const gchar *name);
void change_any(const Properties *properties);

#endif
