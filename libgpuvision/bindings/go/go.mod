// SPDX-License-Identifier: BSD-2-Clause
module gpuvision

go 1.19
