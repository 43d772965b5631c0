/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef TESTS_GST_COMMON_H
#define TESTS_GST_COMMON_H

#include "elements.h"

/* With the tests that an element of this name has as every other has them. */
Suite *common_suite(const gchar *name);

#endif
