// SPDX-License-Identifier: BSD-2-Clause
int main() { return 0; }
