/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What an ELF file says of the PHP in it: its version, where its state is, and how that is read.
 *
 * An interpreter is known by what it exports, whatever its file is called: php8.2, php-fpm8.2, libphp.so. Nothing is read of a
 * process here. Versions 7.4 to 8.4 are known; builds for threads (ZTS) are not.
 */
#ifndef CPROF_RUNTIME_PHP_H
#define CPROF_RUNTIME_PHP_H

#include <stdbool.h>
#include <stdint.h>

#include "object/object.h"
#include "php_abi.h"

/* *layout: that of its version; its state is an elf_addr. false: there is no PHP that is known. */
bool php_find(struct object *object, struct abi_php *layout);

/* How this version (0x0802 is 8.2) lies in memory; state is left 0. false: it is not known. */
bool php_layout(uint16_t version, struct abi_php *layout);

#endif
