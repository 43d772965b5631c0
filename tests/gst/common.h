/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_GST_COMMON_H
#define TESTS_GST_COMMON_H

#include "elements.h"

/* The tests that an element of this name has as every other has them, and its own. */
int run_element(const gchar *name, int (*run)(const gchar *part));

#endif
