-- SPDX-License-Identifier: MIT
std = "lua54"
max_line_length = 100
cache = false
files["tests/**/*_spec.lua"].std = "+busted"
files["scripts/examples"].std = "lua54"
