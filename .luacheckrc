-- SPDX-License-Identifier: MIT
std = "lua54"
max_line_length = false -- scripts/structure.lua holds it
cache = false
files["tests/**/*_spec.lua"].std = "+busted"
files["scripts/examples"].std = "lua54"
