-- SPDX-License-Identifier: MIT
--
-- Types for editors: tensors. See meta.lua.
-- luacheck: ignore 212 241 431
---@meta _

---@alias symm.dtype
---| "float64"
---| "float32"
---| "float16"
---| "bfloat16"
---| "int64"
---| "int32"
---| "int16"
---| "int8"
---| "uint8"
---| "uint32"
---| "uint64"
---| "bool"

--- What becomes one element. Lua's integers stand for the 64 bits of a uint64: -1 is its largest number.
---@alias symm.number number|boolean

---@class symm
local symm = {}

--- Dimensions and indices count from 0, and from the end where they are negative. Two tensors must have
--- one dtype; a number becomes an element of the tensor's dtype first, and for an integer dtype must be a
--- whole number in its range. A trailing underscore changes the tensor in place and gives it back.
---@class symm.tensor
---@field dtype symm.dtype
---@field device string
---@field ndim integer
---@operator add(symm.tensor|symm.number): symm.tensor
---@operator sub(symm.tensor|symm.number): symm.tensor
---@operator mul(symm.tensor|symm.number): symm.tensor
---@operator div(symm.tensor|symm.number): symm.tensor
---@operator pow(symm.tensor|symm.number): symm.tensor
---@operator unm: symm.tensor
---@operator len: integer
local tensor = {}

---@class symm.TensorOptions
---@field dtype? symm.dtype
---@field device? string

---@class symm.RandomOptions
---@field dtype? symm.dtype
---@field device? string
---@field seed? integer the numbers depend on it alone

---@class symm.OutOptions
---@field out? symm.tensor takes the result, and is given back

---@class symm.ReduceOptions
---@field dim? integer
---@field keepdim? boolean

---@class symm.AllcloseOptions
---@field rtol? number default 1e-5
---@field atol? number default 1e-8
---@field equal_nan? boolean

--- Contiguous, uninitialised.
---@param shape integer[]
---@param dtype? symm.dtype default "float32"
---@param device? string
---@return symm.tensor
---@overload fun(shape: integer[], options: symm.TensorOptions): symm.tensor
function symm.empty(shape, dtype, device) end

--- Uninitialised; the memory is as large as shape and strides reach.
---@param shape integer[]
---@param stride integer[] in elements
---@param dtype? symm.dtype default "float32"
---@param device? string
---@return symm.tensor
---@overload fun(shape: integer[], stride: integer[], options: symm.TensorOptions): symm.tensor
function symm.empty_strided(shape, stride, dtype, device) end

---@param shape integer[]
---@param dtype? symm.dtype default "float32"
---@param device? string
---@return symm.tensor
---@overload fun(shape: integer[], options: symm.TensorOptions): symm.tensor
function symm.zeros(shape, dtype, device) end

---@param shape integer[]
---@param dtype? symm.dtype default "float32"
---@param device? string
---@return symm.tensor
---@overload fun(shape: integer[], options: symm.TensorOptions): symm.tensor
function symm.ones(shape, dtype, device) end

--- Every element `value`, which decides the dtype if none is given.
---@param shape integer[]
---@param value symm.number
---@param dtype? symm.dtype
---@param device? string
---@return symm.tensor
---@overload fun(shape: integer[], value: symm.number, options: symm.TensorOptions): symm.tensor
function symm.full(shape, value, dtype, device) end

--- start, start + step, ... before stop; arange(stop) begins at 0.
---@param start number
---@param stop number
---@param step? number default 1
---@param dtype? symm.dtype
---@param device? string
---@return symm.tensor
---@overload fun(stop: number, dtype?: symm.dtype|symm.TensorOptions): symm.tensor
---@overload fun(start: number, stop: number, options: symm.TensorOptions): symm.tensor
---@overload fun(start: number, stop: number, step: number, options: symm.TensorOptions): symm.tensor
function symm.arange(start, stop, step, dtype, device) end

--- From nested tables, all of one length at each depth, or from one number.
---@param t table|symm.number
---@param dtype? symm.dtype
---@param device? string
---@return symm.tensor
---@overload fun(t: table|symm.number, options: symm.TensorOptions): symm.tensor
function symm.tensor(t, dtype, device) end

--- A copy of a string's bytes, little-endian, row-major.
---@param bytes string
---@param dtype symm.dtype
---@param shape? integer[]
---@return symm.tensor
function symm.frombytes(bytes, dtype, shape) end

--- Uniform in [0, 1); float dtypes only.
---@param shape integer[]
---@param dtype? symm.dtype default "float32"
---@param device? string
---@return symm.tensor
---@overload fun(shape: integer[], options: symm.RandomOptions): symm.tensor
function symm.rand(shape, dtype, device) end

--- Normal, mean 0, variance 1; float dtypes only.
---@param shape integer[]
---@param dtype? symm.dtype default "float32"
---@param device? string
---@return symm.tensor
---@overload fun(shape: integer[], options: symm.RandomOptions): symm.tensor
function symm.randn(shape, dtype, device) end

--- Where rand and randn without a seed go on from, in this interpreter.
---@param seed integer
function symm.manual_seed(seed) end

--- Reads a .npy file; `dtype` is what it must hold.
---@param path string
---@param dtype? symm.dtype
---@return symm.tensor
function symm.npy_load(path, dtype) end

--- Elements first .. first + count - 1 of the first dimension, without reading the others.
---@param path string
---@param first integer
---@param count integer
---@param dtype? symm.dtype
---@return symm.tensor
function symm.npy_load_rows(path, first, count, dtype) end

--- Writes a .npy file, which then replaces `path` at once.
---@param path string
---@param tensor symm.tensor
function symm.npy_save(path, tensor) end

--- Reads a .npy file's header only.
---@param path string
---@return integer[] shape
---@return symm.dtype dtype
function symm.npy_shape(path) end

---@return integer
function tensor:dim() end

---@return integer[]
function tensor:shape() end

--- The size of a dimension, or the list of all.
---@param dim integer
---@return integer
---@overload fun(self: symm.tensor): integer[]
function tensor:size(dim) end

---@return integer[] in elements
function tensor:stride() end

---@return integer in elements
function tensor:storage_offset() end

---@return integer
function tensor:numel() end

---@return integer
function tensor:nbytes() end

---@return integer address of the first element
function tensor:data_ptr() end

---@return boolean
function tensor:is_contiguous() end

function tensor:close() end

---@return boolean
function tensor:is_closed() end

--- One element: as many indices as dimensions, or one list of them.
---@param ... integer|integer[]
---@return symm.number
function tensor:get(...) end

--- Writes one element: indices, or one list of them, then the value.
---@param ... integer[]|symm.number
---@return symm.tensor self
function tensor:set(...) end

--- The element of a tensor that has exactly one.
---@return symm.number
function tensor:item() end

---@return table|symm.number nested lists
function tensor:tolist() end

---@return string row-major, little-endian
function tensor:tobytes() end

--- A contiguous copy.
---@return symm.tensor
function tensor:clone() end

--- Itself if it is contiguous, else a contiguous copy.
---@return symm.tensor
function tensor:contiguous() end

--- Itself if it has the dtype, else a converted contiguous copy.
---@param dtype symm.dtype
---@return symm.tensor
function tensor:to(dtype) end

--- Writes the elements of `source`, broadcast and converted.
---@param source symm.tensor
---@return symm.tensor self
function tensor:copy_(source) end

---@param value symm.number
---@return symm.tensor self
function tensor:fill_(value) end

---@return symm.tensor self
function tensor:zero_() end

--- Elements start, start + step, ... before stop of a dimension; bounds are clamped.
---@param dim integer
---@param start? integer default 0
---@param stop? integer default the end
---@param step? integer default 1
---@return symm.tensor
function tensor:slice(dim, start, stop, step) end

---@param dim integer
---@param index integer
---@return symm.tensor
function tensor:select(dim, index) end

---@param dim integer
---@param start integer
---@param length integer
---@return symm.tensor
function tensor:narrow(dim, start, length) end

--- The same elements in another shape: a list, or the sizes; one may be -1.
---@param ... integer|integer[]
---@return symm.tensor
function tensor:view(...) end

--- As view, and a copy where that is not possible.
---@param ... integer|integer[]
---@return symm.tensor
function tensor:reshape(...) end

---@param start_dim? integer default 0
---@param end_dim? integer default -1
---@return symm.tensor
function tensor:flatten(start_dim, end_dim) end

--- One more dimension of size 1 before `dim`; -1 is after the last.
---@param dim integer
---@return symm.tensor
function tensor:unsqueeze(dim) end

--- Without that dimension if its size is 1, or without all such dimensions.
---@param dim? integer
---@return symm.tensor
function tensor:squeeze(dim) end

---@param dim0 integer
---@param dim1 integer
---@return symm.tensor
function tensor:transpose(dim0, dim1) end

--- Dimension i of the result is dimension dims[i]; a list, or the numbers.
---@param ... integer|integer[]
---@return symm.tensor
function tensor:permute(...) end

---@param source integer|integer[]
---@param destination integer|integer[]
---@return symm.tensor
function tensor:movedim(source, destination) end

---@param chunks integer
---@param dim? integer default 0
---@return symm.tensor[]
function tensor:chunk(chunks, dim) end

--- Repeats dimensions of size 1 without copying; the result cannot be written.
---@param ... integer|integer[]
---@return symm.tensor
function tensor:expand(...) end

--- For bool: or.
---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor
function tensor:add(other, options) end

---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor
function tensor:sub(other, options) end

--- For bool: and.
---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor
function tensor:mul(other, options) end

--- Integers divide towards zero; by zero is an error.
---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor
function tensor:div(other, options) end

--- Integers have no negative powers.
---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor
function tensor:pow(other, options) end

--- NaN is passed on.
---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor
function tensor:maximum(other, options) end

--- NaN is passed on.
---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor
function tensor:minimum(other, options) end

---@param other symm.tensor|symm.number
---@return symm.tensor self
function tensor:add_(other) end

---@param other symm.tensor|symm.number
---@return symm.tensor self
function tensor:sub_(other) end

---@param other symm.tensor|symm.number
---@return symm.tensor self
function tensor:mul_(other) end

---@param other symm.tensor|symm.number
---@return symm.tensor self
function tensor:div_(other) end

---@param other symm.tensor|symm.number
---@return symm.tensor self
function tensor:pow_(other) end

---@param other symm.tensor|symm.number
---@return symm.tensor self
function tensor:maximum_(other) end

---@param other symm.tensor|symm.number
---@return symm.tensor self
function tensor:minimum_(other) end

---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor of bool
function tensor:eq(other, options) end

---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor of bool
function tensor:ne(other, options) end

---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor of bool
function tensor:lt(other, options) end

---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor of bool
function tensor:le(other, options) end

---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor of bool
function tensor:gt(other, options) end

---@param other symm.tensor|symm.number
---@param options? symm.OutOptions
---@return symm.tensor of bool
function tensor:ge(other, options) end

---@return symm.tensor
function tensor:neg() end

---@return symm.tensor
function tensor:abs() end

---@return symm.tensor self
function tensor:neg_() end

---@return symm.tensor self
function tensor:abs_() end

--- The matrix product; vectors are rows on the left and columns on the right.
---@param other symm.tensor
---@param options? symm.OutOptions
---@return symm.tensor
function tensor:matmul(other, options) end

--- Whether shapes are equal and every element is.
---@param other symm.tensor
---@return boolean
function tensor:equal(other) end

--- Whether every pair is equal or |self - other| <= atol + rtol |other|.
---@param other symm.tensor
---@param options? symm.AllcloseOptions
---@return boolean
function tensor:allclose(other, options) end

--- Integers give int64.
---@param dim? integer default: all
---@param keepdim? boolean
---@return symm.tensor
---@overload fun(self: symm.tensor, options: symm.ReduceOptions): symm.tensor
function tensor:sum(dim, keepdim) end

--- Integers give int64.
---@param dim? integer default: all
---@param keepdim? boolean
---@return symm.tensor
---@overload fun(self: symm.tensor, options: symm.ReduceOptions): symm.tensor
function tensor:prod(dim, keepdim) end

--- Integers give float64.
---@param dim? integer default: all
---@param keepdim? boolean
---@return symm.tensor
---@overload fun(self: symm.tensor, options: symm.ReduceOptions): symm.tensor
function tensor:mean(dim, keepdim) end

---@param dim? integer default: all
---@param keepdim? boolean
---@return symm.tensor
---@overload fun(self: symm.tensor, options: symm.ReduceOptions): symm.tensor
function tensor:max(dim, keepdim) end

---@param dim? integer default: all
---@param keepdim? boolean
---@return symm.tensor
---@overload fun(self: symm.tensor, options: symm.ReduceOptions): symm.tensor
function tensor:min(dim, keepdim) end

--- A Lua boolean for the whole tensor; with dim or keepdim a tensor of bool.
---@param dim integer
---@param keepdim? boolean
---@return symm.tensor
---@overload fun(self: symm.tensor): boolean
---@overload fun(self: symm.tensor, options: symm.ReduceOptions): symm.tensor
function tensor:all(dim, keepdim) end

--- A Lua boolean for the whole tensor; with dim or keepdim a tensor of bool.
---@param dim integer
---@param keepdim? boolean
---@return symm.tensor
---@overload fun(self: symm.tensor): boolean
---@overload fun(self: symm.tensor, options: symm.ReduceOptions): symm.tensor
function tensor:any(dim, keepdim) end
