// SPDX-License-Identifier: BSD-2-Clause
// Empty: with a file of assembly, functions without a body are allowed.
