-- SPDX-License-Identifier: MIT
--
-- An installed tree of this build, and programs built against it, for specs:
--
--     local tree = require("tests.support.installed").tree()
--     tree.prefix, tree.environment       -- where it is; variables that find its libraries
--     tree.compile("tests/embed/app.c", "symmlua libuv") -> path of the program
--     tree.remove()
--
-- Programs are compiled as a stranger does it: the compiler, pkg-config, and nothing of this tree.

local launch = require "tests.support.launch"

local installed = {}

local function config(name)
  return launch.capture(("sed -n 's/^%s = //p' %s/config.ninja"):format(name, launch.build)) or ""
end

local function must(command)
  local r = launch.shell(command, { timeout = 200 })
  if r.code ~= 0 then error(command .. "\n" .. r.out .. r.err, 0) end
  return r.out
end

function installed.tree()
  local directory = launch.capture("mktemp -d")
  local tree = { prefix = directory .. "/usr" }
  must(("scripts/install %s %s %s"):format(launch.build, tree.prefix, config("version")))
  tree.environment = { LD_LIBRARY_PATH = tree.prefix .. "/lib" }

  function tree.compile(source, packages)
    local program = directory .. "/" .. source:match("([^/]+)%.c$")
    -- The flags of a build under sanitizers are needed by what links with it, too.
    must(("cd %s && PKG_CONFIG_PATH=%s/lib/pkgconfig && export PKG_CONFIG_PATH && " ..
      "%s %s -std=gnu11 -Wall -Wextra -Werror -o %s %s $(pkg-config --cflags --libs %s) -pthread"):format(
      directory, tree.prefix, config("cc"), config("ldflags"), program,
      launch.capture("realpath " .. source), packages))
    return program
  end

  function tree.remove() os.execute("rm -rf " .. launch.quote(directory)) end

  return tree
end

return installed
