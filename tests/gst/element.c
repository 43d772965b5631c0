/* SPDX-License-Identifier: BSD-2-Clause */
/* What every element does alike, of the one that is named, which has no tests of its own. */
#include "common.h"

int main(int argc, char **argv) {
    gst_check_init(&argc, &argv);
    if (argc == 2)
        return run_element(argv[1], run_on_backend);
    g_printerr("%s takes the name of an element\n", argv[0]);
    return 2;
}
