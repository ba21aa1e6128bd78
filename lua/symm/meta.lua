---@meta symm
-- SPDX-License-Identifier: MIT
--
-- What the module `symm` offers, for editors (LuaLS). Never run. One section a noun.
-- luacheck: ignore 212 241

local symm = {}

-- ---- errors ----

---What every failing call raises. `tostring` gives one line.
---@class symm.error
---@field code string TIMEOUT, NETWORK, STORE, INVALID, UNSUPPORTED, NOT_FOUND, OOM, IO, ...
---@field message string
---@field where? string
---@field op? string
---@field group? string
---@field rank? integer
---@field peer? integer
---@field channel? integer
---@field seq? integer

-- ---- tensors ----

---Dimensions and indices count from 0, and from the end where they are negative; lists of tensors
---count from 1. A trailing underscore changes the tensor in place and gives it back. Two tensors must
---have one dtype; a number becomes an element of the tensor's dtype first, and for an integer dtype
---must be a whole number in its range. Integers wrap around and divide towards zero, never by it.
---Lua's integers stand for the 64 bits of a uint64: -1 is its largest number.
---@class symm.tensor
---@field dtype symm.dtype
---@field device string
---@field ndim integer
---@operator add(symm.tensor|number): symm.tensor
---@operator sub(symm.tensor|number): symm.tensor
---@operator mul(symm.tensor|number): symm.tensor
---@operator div(symm.tensor|number): symm.tensor
---@operator pow(symm.tensor|number): symm.tensor
---@operator unm: symm.tensor
---@operator len: integer
local tensor = {}

---@alias symm.dtype
---| "float64" | "float32" | "float16" | "bfloat16" | "int64" | "int32" | "int16" | "int8"
---| "uint8" | "uint32" | "uint64" | "bool"
---@alias symm.operand symm.tensor|number|boolean

---@class symm.tensor_options
---@field dtype? symm.dtype
---@field device? string

---@class symm.random_options: symm.tensor_options
---@field seed? integer numbers of their own; without it the state's generator goes on

---@class symm.out_option
---@field out? symm.tensor where the result goes; of its shape and dtype; may be an operand

---@class symm.reduce_options
---@field dim? integer without it: the whole tensor
---@field keepdim? boolean

---@type symm.dtype[]
symm.dtypes = {}

-- Making. dtype is float32 and device "cpu" unless told otherwise; both may also be named in a table.

---Uninitialised.
---@param shape integer[]
---@param dtype? symm.dtype|symm.tensor_options
---@param device? string
---@return symm.tensor
function symm.empty(shape, dtype, device) end

---Uninitialised, as large as its strides (in elements) reach.
---@param shape integer[]
---@param stride integer[]
---@param dtype? symm.dtype|symm.tensor_options
---@param device? string
---@return symm.tensor
function symm.empty_strided(shape, stride, dtype, device) end

---@param shape integer[]
---@param dtype? symm.dtype|symm.tensor_options
---@param device? string
---@return symm.tensor
function symm.zeros(shape, dtype, device) end

---@param shape integer[]
---@param dtype? symm.dtype|symm.tensor_options
---@param device? string
---@return symm.tensor
function symm.ones(shape, dtype, device) end

---Without a dtype that of the value: int64, float32 or bool.
---@param shape integer[]
---@param value number|boolean
---@param dtype? symm.dtype|symm.tensor_options
---@param device? string
---@return symm.tensor
function symm.full(shape, value, dtype, device) end

---arange(stop), arange(start, stop), arange(start, stop, step), each with dtype and device behind.
---int64 if all numbers are integers, else float32.
---@param ... number|symm.dtype|symm.tensor_options
---@return symm.tensor
function symm.arange(...) end

---Uniform in [0, 1).
---@param shape integer[]
---@param dtype? symm.dtype|symm.random_options
---@param device? string|symm.random_options
---@param options? symm.random_options
---@return symm.tensor
function symm.rand(shape, dtype, device, options) end

---Normal, mean 0, variance 1.
---@param shape integer[]
---@param dtype? symm.dtype|symm.random_options
---@param device? string|symm.random_options
---@param options? symm.random_options
---@return symm.tensor
function symm.randn(shape, dtype, device, options) end

---Seeds the generator of this Lua state, which rand and randn use without a seed of their own.
---@param seed integer
function symm.manual_seed(seed) end

---From a number, a boolean or nested lists of them. Without a dtype: int64, float32 or bool.
---@param t number|boolean|table
---@param dtype? symm.dtype|symm.tensor_options
---@param device? string
---@return symm.tensor
function symm.tensor(t, dtype, device) end

---A copy of bytes in row-major order, little-endian; one dimension if no shape is given.
---@param bytes string
---@param dtype symm.dtype
---@param shape? integer[]
---@return symm.tensor
function symm.frombytes(bytes, dtype, shape) end

-- .npy files.

---@param path string
---@param dtype? symm.dtype what the file must hold; needed for bfloat16, which NumPy has no type for
---@return symm.tensor
function symm.npy_load(path, dtype) end

---Elements first .. first + count - 1 of the first dimension, without reading the others.
---@param path string
---@param first integer
---@param count integer
---@param dtype? symm.dtype
---@return symm.tensor
function symm.npy_load_rows(path, first, count, dtype) end

---Shape and dtype of a file, from its header.
---@param path string
---@return integer[] shape
---@return symm.dtype dtype
function symm.npy_shape(path) end

---The file is there whole, or as it was before.
---@param path string
---@param t symm.tensor
function symm.npy_save(path, t) end

-- Reading.

---@param dim integer
---@return integer
---@overload fun(self: symm.tensor): integer[]
function tensor:size(dim) end
---@return integer[]
function tensor:shape() end
---@return integer[]
function tensor:stride() end
---@return integer
function tensor:storage_offset() end
---@return integer
function tensor:numel() end
---@return integer
function tensor:nbytes() end
---@return integer
function tensor:dim() end
---Address of the first element.
---@return integer
function tensor:data_ptr() end
---@return boolean
function tensor:is_contiguous() end
---The element of a tensor that has one.
---@return number|boolean
function tensor:item() end
---@param ... integer as many as dimensions
---@return number|boolean
function tensor:get(...) end
---t:set(i, j, ..., value)
---@param ... integer|number|boolean
---@return symm.tensor
function tensor:set(...) end
---Nested lists; of a tensor without dimensions the value itself.
---@return table|number|boolean
function tensor:tolist() end
---@return string
function tensor:tobytes() end
---Gives the memory back now, if no view of it is left. Closing twice is no error; using it then is.
function tensor:close() end
---@return boolean
function tensor:is_closed() end

-- Views share memory with the tensor and keep it alive. A shape may be a list or the numbers.

---Elements start, start + step, ... before stop; both bounds are clamped.
---@param dim integer
---@param start? integer 0
---@param stop? integer the end
---@param step? integer 1
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
---Never copies: an error where strides cannot express the shape. One dimension may be -1.
---@param ... integer|integer[]
---@return symm.tensor
function tensor:view(...) end
---Copies where strides cannot express the shape.
---@param ... integer|integer[]
---@return symm.tensor
function tensor:reshape(...) end
---Repeats dimensions of size 1; -1 keeps a size. The result cannot be written.
---@param ... integer|integer[]
---@return symm.tensor
function tensor:expand(...) end
---@param dim integer
---@return symm.tensor
function tensor:unsqueeze(dim) end
---@param dim? integer
---@return symm.tensor
function tensor:squeeze(dim) end
---@param start_dim? integer 0
---@param end_dim? integer -1
---@return symm.tensor
function tensor:flatten(start_dim, end_dim) end
---@param dim0 integer
---@param dim1 integer
---@return symm.tensor
function tensor:transpose(dim0, dim1) end
---@param ... integer|integer[]
---@return symm.tensor
function tensor:permute(...) end
---@param source integer|integer[]
---@param destination integer|integer[]
---@return symm.tensor
function tensor:movedim(source, destination) end
---At most `chunks` pieces of the same size, the last one smaller.
---@param chunks integer
---@param dim? integer 0
---@return symm.tensor[]
function tensor:chunk(chunks, dim) end

-- Copies.

---The tensor itself if it is contiguous.
---@return symm.tensor
function tensor:contiguous() end
---@return symm.tensor
function tensor:clone() end
---The tensor itself if it has the dtype. To a float: nearest even. Float to integer: towards zero, NaN
---gives 0, what is out of range the nearest bound. Integer to integer: the low bits.
---@param dtype symm.dtype
---@return symm.tensor
function tensor:to(dtype) end
---@param source symm.tensor broadcast and converted
---@return symm.tensor
function tensor:copy_(source) end
---@param value number|boolean
---@return symm.tensor
function tensor:fill_(value) end
---@return symm.tensor
function tensor:zero_() end

-- Arithmetic; shapes are broadcast.

---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:add(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:sub(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:mul(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:div(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:pow(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:maximum(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:minimum(other, options) end

---@param other symm.operand
---@return symm.tensor
function tensor:add_(other) end
---@param other symm.operand
---@return symm.tensor
function tensor:sub_(other) end
---@param other symm.operand
---@return symm.tensor
function tensor:mul_(other) end
---@param other symm.operand
---@return symm.tensor
function tensor:div_(other) end
---@param other symm.operand
---@return symm.tensor
function tensor:pow_(other) end
---@param other symm.operand
---@return symm.tensor
function tensor:maximum_(other) end
---@param other symm.operand
---@return symm.tensor
function tensor:minimum_(other) end

---@return symm.tensor
function tensor:neg() end
---@return symm.tensor
function tensor:neg_() end
---@return symm.tensor
function tensor:abs() end
---@return symm.tensor
function tensor:abs_() end

-- Comparisons give bool tensors; Lua's == stays identity.

---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:eq(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:ne(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:lt(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:le(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:gt(other, options) end
---@param other symm.operand
---@param options? symm.out_option
---@return symm.tensor
function tensor:ge(other, options) end
---Same shape and same elements; NaN is equal to nothing.
---@param other symm.tensor
---@return boolean
function tensor:equal(other) end
---|a - b| <= atol + rtol |b| for all elements.
---@param other symm.tensor
---@param options? {rtol?: number, atol?: number, equal_nan?: boolean} 1e-5, 1e-8, false
---@return boolean
function tensor:allclose(other, options) end

-- Reductions: of the whole tensor, or along a dimension. The order of additions is fixed. sum and prod
-- of integers and bool give int64 (of uint64: uint64), their mean float64.

---@param dim? integer|symm.reduce_options
---@param keepdim? boolean
---@return symm.tensor
function tensor:sum(dim, keepdim) end
---@param dim? integer|symm.reduce_options
---@param keepdim? boolean
---@return symm.tensor
function tensor:prod(dim, keepdim) end
---@param dim? integer|symm.reduce_options
---@param keepdim? boolean
---@return symm.tensor
function tensor:mean(dim, keepdim) end
---@param dim? integer|symm.reduce_options
---@param keepdim? boolean
---@return symm.tensor
function tensor:max(dim, keepdim) end
---@param dim? integer|symm.reduce_options
---@param keepdim? boolean
---@return symm.tensor
function tensor:min(dim, keepdim) end
---A boolean for the whole tensor, a bool tensor along a dimension.
---@param dim? integer|symm.reduce_options
---@param keepdim? boolean
---@return boolean|symm.tensor
function tensor:all(dim, keepdim) end
---@param dim? integer|symm.reduce_options
---@param keepdim? boolean
---@return boolean|symm.tensor
function tensor:any(dim, keepdim) end

---@param other symm.tensor
---@param options? symm.out_option
---@return symm.tensor
function tensor:matmul(other, options) end

return symm
