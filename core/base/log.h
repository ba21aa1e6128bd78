/* SPDX-License-Identifier: MIT */
#ifndef SYMM_BASE_LOG_H
#define SYMM_BASE_LOG_H

#include <symm/log.h>

#include "base/error.h"

/* `area` is the noun that speaks: "store", "symmem". Any thread. */
void symm__log(enum symm_log_level level, const char *area, const char *format, ...)
    SYMM__PRINTF(3, 4);

#endif
