# SPDX-License-Identifier: BSD-2-Clause
# ./dev lint: what a machine can see of our manners.

dev_lint() { run "$python" tests/tools/lint.py; }
