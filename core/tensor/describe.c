/* SPDX-License-Identifier: MIT
 *
 * Tensors as text for people. What is long is cut short, so that a text has some hundred numbers at
 * most, whatever the shape.
 */
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "tensor/kernels.h"
#include "tensor/scalar.h"

#define WHOLE_MAX 100 /* tensors with more elements are cut short */

struct text {
    char *to;
    size_t size;
    size_t length; /* of the whole text, also where it does not fit */
};

static void append(struct text *text, const char *format, ...) SYMM__PRINTF(2, 3);
static void append(struct text *text, const char *format, ...) {
    va_list args;
    size_t used = text->length < text->size ? text->length : text->size;
    va_start(args, format);
    int n = vsnprintf(text->size ? text->to + used : NULL, text->size - used, format, args);
    va_end(args);
    if (n > 0) text->length += (size_t)n;
}

static void append_element(struct text *text, const symm_tensor *tensor, int64_t offset) {
    const char *first = symm_tensor_data(tensor);
    symm_scalar value =
        symm__scalar_load(tensor->dtype, first + offset * (int64_t)symm_dtype_size(tensor->dtype));
    switch (value.kind) {
    case SYMM_KIND_FLOAT: append(text, isnan(value.value.f) ? "nan" : "%.6g", value.value.f); break;
    case SYMM_KIND_INT: append(text, "%" PRId64, value.value.i); break;
    case SYMM_KIND_UINT: append(text, "%" PRIu64, value.value.u); break;
    case SYMM_KIND_BOOL: append(text, "%s", value.value.u ? "true" : "false"); break;
    }
}

/* Between two neighbours: within a row a blank, between rows one line, between matrices two, ....
 */
static void append_separator(struct text *text, const symm_tensor *tensor, int dim) {
    append(text, ",");
    if (dim == tensor->ndim - 1) {
        append(text, " ");
        return;
    }
    for (int i = dim; i < tensor->ndim - 1; i++) append(text, "\n");
    append(text, "%*s", (int)strlen("tensor(") + dim + 1, "");
}

/* `edge`: how many elements stay at either end of a dimension; 0: all. */
static void append_dim(struct text *text, const symm_tensor *tensor, int dim, int64_t offset,
                       int64_t edge) {
    if (dim == tensor->ndim) {
        append_element(text, tensor, offset);
        return;
    }
    int64_t size = tensor->shape[dim];
    int is_cut = edge > 0 && size > 2 * edge;
    append(text, "[");
    for (int64_t i = 0; i < size; i++) {
        if (i > 0) append_separator(text, tensor, dim);
        if (is_cut && i == edge) {
            append(text, "...");
            append_separator(text, tensor, dim);
            i = size - edge;
        }
        append_dim(text, tensor, dim + 1, offset + i * tensor->stride[dim], edge);
    }
    append(text, "]");
}

int64_t symm_tensor_describe(const symm_tensor *tensor, char *to, size_t size) {
    struct text text = {to, size, 0};
    char shape[SYMM__SHAPE_TEXT_SIZE];
    if (!to && size > 0) return symm__fail_at(SYMM__IN("describe"), SYMM_EINVALID, "text is NULL");
    int is_on_host = strcmp(symm_tensor_device(tensor), "cpu") == 0;
    int64_t edge = tensor->numel <= WHOLE_MAX ? 0 : tensor->ndim <= 3 ? 3 : 1;
    append(&text, "tensor(");
    if (!is_on_host) {
        append(&text, "...");
    } else if (tensor->numel == 0) {
        append(&text, "[]"); /* however many brackets: there is nothing in them */
    } else {
        append_dim(&text, tensor, 0, 0, edge);
    }
    append(&text, ", dtype=%s, shape=%s", symm_dtype_name(tensor->dtype),
           symm__shape_text(tensor->shape, tensor->ndim, shape));
    if (!is_on_host) append(&text, ", device=%s", symm_tensor_device(tensor));
    append(&text, ")");
    return (int64_t)text.length;
}
