// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdlib>

#include <check.h>

/// Runs the tests of a group and gives the exit status of the program.
inline int run_group(const char *name, TCase *group) {
    Suite *suite = suite_create(name);
    suite_add_tcase(suite, group);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    const int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
