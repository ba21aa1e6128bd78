/* SPDX-License-Identifier: MIT
 *
 * The C API of libsymm: communication between ranks.
 *
 * Conventions. Functions that can fail return 0 or a negative code of symm/status.h;
 * symm_last_error() has the details. Outputs come last and are set only on success. Whoever opens
 * releases. Nothing here ends the process, and no function may be called in a forked child
 * (SYMM_EUNSUPPORTED).
 */
#ifndef SYMM_SYMM_H
#define SYMM_SYMM_H

#include <symm/dlpack.h>
#include <symm/dtype.h>
#include <symm/error.h>
#include <symm/group.h>
#include <symm/launch.h>
#include <symm/log.h>
#include <symm/npy.h>
#include <symm/status.h>
#include <symm/store.h>
#include <symm/symmem.h>
#include <symm/tensor.h>
#include <symm/version.h>
#include <symm/wait.h>

#endif
