-- SPDX-License-Identifier: MIT
--
-- Setting up and building: scripts/setup, scripts/configure, the names that ninja knows, and what
-- the scripts around them ask for. All happens in a copy of the tree; what would take long or reach
-- out (apt-get, ninja's work, checkers) is replaced by programs of the test's own, first in PATH.

local launch = require "tests.support.launch"

local quote = launch.quote
local tree -- the copy; each test finds it without build/, and with an empty bin/ that PATH begins with

local function read(path)
  local file = io.open(tree .. "/" .. path, "rb")
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

-- What somebody's environment may say about building; no test sees it.
local CLEAR = { "CC", "CFLAGS", "LDFLAGS", "PKG_CONFIG", "PKG_CONFIG_PATH", "PKG_CONFIG_LIBDIR",
  "CUDA_HOME", "NCCL_HOME", "CI" }

local function shell(command, env)
  local chosen = { PATH = tree .. "/bin:" .. os.getenv "PATH" }
  for _, name in ipairs(CLEAR) do chosen[name] = false end
  for name, value in pairs(env or {}) do chosen[name] = value end
  return launch.shell("cd " .. quote(tree) .. " && " .. command, { env = chosen })
end

local function succeed(command, env)
  local r = shell(command, env)
  assert.equal(0, r.code, r.out .. r.err)
  return r
end

-- Puts a program into bin/. What it adds to the file `log` is log().
local function program(name, text)
  local path = tree .. "/bin/" .. name
  local file = assert(io.open(path, "w"))
  assert(file:write("#!/bin/sh\n", text, "\n"))
  assert(file:close())
  os.execute("chmod +x " .. quote(path))
end

local function log() return read "log" or "" end

-- A command where nothing is in PATH but bin/ with links to these programs.
local function alone(command, ...)
  for _, name in ipairs { ... } do
    assert(os.execute(("ln -s $(command -v %s) %s/bin/%s"):format(name, quote(tree), name)))
  end
  return ("bash=$(command -v bash); PATH=$PWD/bin; $bash %s"):format(command)
end

-- NAME = VALUE in a build's config.ninja.
local function setting(name, build)
  local text = assert(read((build or "build") .. "/config.ninja"), "there is no config.ninja")
  return ("\n" .. text):match("\n" .. name .. " = ([^\n]*)")
end

local function has(text, part) assert.truthy(text:find(part, 1, true), ("no '%s' in: %s"):format(part, text)) end
local function lacks(text, part) assert.falsy(text:find(part, 1, true), ("'%s' in: %s"):format(part, text)) end

local function last_line(text) return text:match "([^\n]*)\n?$" end

describe("building", function()
  lazy_setup(function()
    tree = launch.capture "mktemp -d"
    assert(os.execute("cp -r build.ninja scripts core lua tests .ci " .. quote(tree)))
  end)
  lazy_teardown(function() os.execute("rm -rf " .. quote(tree)) end)
  before_each(function()
    assert(os.execute(("cd %s && rm -rf build bin log && mkdir bin"):format(quote(tree))))
  end)

  -- ---- scripts/setup ----

  it("names the packages that are needed", function()
    local r = succeed "scripts/setup --list"
    for _, name in ipairs { "gcc", "ninja-build", "pkgconf", "lua5.4", "liblua5.4-dev", "libuv1-dev",
      "libopenblas0", "uthash-dev", "libdlpack-dev", "libhwloc-dev", "libedit-dev", "lua-busted" } do
      has("\n" .. r.out, "\n" .. name .. "\n")
    end
    for line in r.out:gmatch "[^\n]+" do assert.matches("^[a-z0-9][a-z0-9.+-]+$", line) end
    assert.equal("", r.err)
  end)

  for option, more in pairs { ["--lint"] = { "clang-14", "clang-tidy-14", "lua-check" },
    ["--full"] = { "valgrind" }, ["--mpi"] = { "openmpi-bin", "mpich" },
    ["--peers"] = { "libopenmpi-dev", "libgloo-dev" } } do
    it("names more packages with " .. option, function()
      local plain = succeed("scripts/setup --list").out
      local all = succeed("scripts/setup --list " .. option).out
      assert.equal(plain, all:sub(1, #plain))
      for _, name in ipairs(more) do has("\n" .. all:sub(#plain + 1), "\n" .. name .. "\n") end
    end)
  end

  it("lists what to install by hand where there is no apt-get", function()
    local packages = succeed("scripts/setup --list").out
    local r = shell(alone("scripts/setup", "env"))
    assert.same({ 1, "" }, { r.code, r.out })
    has(r.err, "no apt-get")
    for name in packages:gmatch "[^\n]+" do has(r.err, "\n  " .. name .. "\n") end
  end)

  it("refuses an option of scripts/setup that it does not know", function()
    local r = shell "scripts/setup --everything"
    assert.same({ 2, "" }, { r.code, r.out })
    has(r.err, "'--everything'")
    has(r.err, "--lint --full --mpi --peers --list")
  end)

  -- A system with apt-get on which only $ABSENT is not installed, for a user with this number.
  local function debian(user)
    program("dpkg-query", [[case " $ABSENT " in *" $4 "*) exit 1 ;; *) printf installed ;; esac]])
    program("apt-get", [[echo "$DEBIAN_FRONTEND apt-get $*" >>log]])
    program("id", "echo " .. user)
  end

  it("installs only what is missing", function()
    debian(0)
    succeed("scripts/setup --mpi", { ABSENT = "libuv1-dev mpich valgrind" })
    local update, install = log():match "^([^\n]*)\n([^\n]*)\n$"
    assert.matches("^noninteractive apt%-get .*update$", update)
    assert.matches("^noninteractive apt%-get .*install %-%-no%-install%-recommends libuv1%-dev mpich$", install)
  end)

  it("installs nothing where all is there", function()
    debian(0)
    assert.equal("", succeed("scripts/setup --lint --full --mpi --peers", { ABSENT = "" }).out)
    assert.equal("", log())
  end)

  it("installs with sudo for somebody who is not root", function()
    debian(1000)
    program("sudo", [[echo sudo >>log; exec "$@"]])
    succeed("scripts/setup", { ABSENT = "gcc" })
    assert.matches("^sudo\n[^\n]*update\nsudo\n[^\n]*install [^\n]*gcc\n$", log())
  end)

  it("says what to install where there is neither root nor sudo", function()
    debian(1000)
    local r = shell(alone("scripts/setup", "env"), { ABSENT = "gcc libuv1-dev" })
    assert.equal(1, r.code)
    has(r.err, "please install: gcc libuv1-dev\n")
    assert.equal("", log())
  end)

  -- ---- scripts/configure: what is there ----

  local ROWS = { "C compiler", "pkg-config", "Lua 5.4", "Lua 5.4 headers", "libuv", "CBLAS at run time",
    "uthash", "DLPack", "hwloc", "libedit", "busted", "NumPy", "CUDA", "NCCL", "MPI" }

  it("prints what it has found and what is left out", function()
    program("nvcc", "exit 0")
    assert(os.execute(("mkdir %s/bin/bin && ln -s ../nvcc %s/bin/bin/nvcc"):format(tree, tree)))
    local r = succeed("scripts/configure", { CUDA_HOME = tree .. "/bin", NCCL_HOME = tree .. "/bin" })
    for _, name in ipairs(ROWS) do
      assert.matches("\n  " .. name:gsub("%p", "%%%0") .. "[^\n]*  [^ \n]", r.out)
    end
    has(r.out, "\n  CUDA                   " .. tree .. "/bin\n")
    has(r.out, "\n  NCCL                   not found: no nccl.h\n")
    assert.matches("\nnow: ninja\n$", r.out)
    assert.same({ tree .. "/bin", "" }, { setting "cuda", setting "nccl" })
  end)

  it("names every package where there is nothing", function()
    local r = shell(alone("scripts/configure", "dirname", "sed", "grep", "mktemp", "rm", "cat"))
    assert.equal(1, r.code)
    local missing = r.err:match "missing: ([^\n]*)\n"
    for _, name in ipairs { "gcc", "pkgconf", "lua5.4", "liblua5.4-dev", "libuv1-dev", "libhwloc-dev",
      "libedit-dev", "lua-busted" } do
      has(" " .. missing .. " ", " " .. name .. " ")
    end
    has(r.err, "scripts/setup")
    has(r.out, "\n  C compiler             MISSING (Debian package gcc)\n")
    has(r.out, "\n  MPI                    not found: benches have no MPI to compare with")
    assert.is_nil(read "build/config.ninja")
  end)

  for module, package in pairs { ["lua"] = "liblua5.4-dev", libuv = "libuv1-dev",
    hwloc = "libhwloc-dev", libedit = "libedit-dev" } do
    it("names the package where only " .. module .. " is missing", function()
      program("only", ([[case "$*" in *%s*) exit 1 ;; esac; exec pkg-config "$@"]]):format(module))
      local r = shell("scripts/configure", { PKG_CONFIG = "only" })
      assert.equal(1, r.code)
      has(r.err, "missing: " .. package .. "\n")
      has(r.out, "MISSING (Debian package " .. package .. ")")
      assert.is_nil(read "build/config.ninja")
    end)
  end

  for word, package in pairs { uthash = "uthash-dev", dlpack = "libdlpack-dev", cblas_sgemm = "libopenblas0" } do
    it("names the package where only what has " .. word .. " is missing", function()
      program("only", ([[for word; do
        if [ -f "$word" ] && grep -q %s "$word"; then exit 1; fi; done; exec cc "$@"]]):format(word))
      local r = shell("scripts/configure", { CC = "only" })
      assert.equal(1, r.code)
      has(r.err, "missing: " .. package .. "\n")
    end)
  end

  it("looks for libraries where PKG_CONFIG_PATH says", function()
    local file = assert(io.open(tree .. "/bin/libuv.pc", "w"))
    file:write("Name: libuv\nDescription: mine\nVersion: 99.9\nLibs: -lmine\nCflags: -I/mine\n")
    file:close()
    local r = succeed("scripts/configure", { PKG_CONFIG_PATH = tree .. "/bin" })
    has(r.out, "\n  libuv                  99.9\n")
    assert.same({ "-isystem /mine", "-lmine" },
      { (setting "uv_cflags"):match "^(.-) *$", (setting "uv_libs"):match "^(.-) *$" })
  end)

  it("takes the compiler that CC names, or none", function()
    program("mine", [[exec cc "$@"]])
    has(succeed("scripts/configure", { CC = "mine" }).out, "\n  C compiler             mine (")
    assert.equal("mine", setting "cc")
    local r = shell("scripts/configure", { CC = "/nowhere/cc" })
    assert.equal(1, r.code)
    has(r.err, "CC=/nowhere/cc")
  end)

  for _, case in ipairs { { "gcc 11", "", 11, "gcc 12" }, { "clang 13", "#define __clang__ 1", 4, "clang 14" } } do
    it("refuses " .. case[1], function()
      program("old", ([[printf '%%s\n' '#define __GNUC__ %d' '%s' '#define __clang_major__ 13']]):format(case[3],
        case[2]))
      local r = shell("scripts/configure", { CC = "old" })
      assert.equal(1, r.code)
      has(r.err, "old is " .. case[1] .. "; gcc 12, clang 14")
    end)
  end

  -- ---- scripts/configure: what it writes ----

  it("writes build/config.ninja", function()
    succeed "scripts/configure"
    assert.same({ "build", "/usr/local" }, { setting "builddir", setting "prefix" })
    assert.equal(read("core/include/symm/version.h"):match 'SYMM_VERSION "([^"]*)"', setting "version")
    for _, flag in ipairs { "-std=c11", "-O2", "-Wall", "-Wextra", "-Wshadow", "-Wconversion" } do
      has(setting "cflags" .. " ", flag .. " ")
    end
    for name, library in pairs { lua = "lua", uv = "-luv", hwloc = "-lhwloc", edit = "-ledit" } do
      has(setting(name .. "_libs"), library)
    end
    for _, name in ipairs { "cc", "lua", "busted" } do assert.matches("%S", setting(name)) end
    has(setting "blas_cflags", "blas")
    has(setting "all_defined", "-z,defs")
  end)

  it("takes warnings for errors only with --werror", function()
    succeed "scripts/configure"
    lacks(setting "cflags", "-Werror")
    succeed "scripts/configure --werror"
    has(setting "cflags", " -Werror")
  end)

  it("takes its options", function()
    succeed("scripts/configure --prefix /opt/x --build-type=debug --sanitize thread --builddir build/x/",
      { CFLAGS = "-DMINE", LDFLAGS = "-Lmine" })
    local cflags, ldflags = setting("cflags", "build/x"), setting("ldflags", "build/x")
    for _, flag in ipairs { "-O0", "-fsanitize=thread", "-DMINE" } do has(cflags, flag) end
    for _, flag in ipairs { "-fsanitize=thread", "-Lmine" } do has(ldflags, flag) end
    assert.same({ "build/x", "/opt/x", "" },
      { setting("builddir", "build/x"), setting("prefix", "build/x"), setting("all_defined", "build/x") })
    assert.is_nil(read "build/config.ninja")
    has(succeed("ninja -f build/x/build.ninja -t commands all").out, " -o build/x/symmrun ")
  end)

  for words, text in pairs {
    ["--prefix=here"] = "absolute path, not 'here'", ["--prefix '/a b'"] = "only letters",
    ["--builddir=/tmp/x"] = "not '/tmp/x'", ["--builddir=build/x/y"] = "not 'build/x/y'",
    ["--build-type=fast"] = "not 'fast'", ["--sanitize=all"] = "not 'all'", ["--prefix"] = "needs a value",
    ["--quick"] = "unknown option '--quick'", ["now"] = "unknown option 'now'",
  } do
    it("refuses " .. words, function()
      local r = shell("scripts/configure " .. words)
      assert.same({ 1, "" }, { r.code, r.out })
      has(r.err, text)
      assert.is_nil(read "build")
    end)
  end

  it("is run again by ninja, with the same settings, when it changes", function()
    succeed("scripts/configure --werror --prefix=/opt/x", { CFLAGS = "-DMINE" })
    local before = read "build/config.ninja"
    succeed "echo '# old' >>build/config.ninja && touch -d '1 hour ago' build/config.ninja"
    succeed "ninja build/config.ninja"
    assert.equal(before, read "build/config.ninja")
  end)

  -- ---- ninja ----

  it("says what to run when nothing is configured", function()
    local r = shell "ninja"
    assert.equal(1, r.code)
    has(r.out .. r.err, "run: scripts/configure")
  end)

  it("has names for people", function()
    succeed "scripts/configure --prefix /opt/x"
    local targets = "\n" .. succeed("ninja -t targets all").out
    for name, rule in pairs { all = "phony", tests = "phony", test = "run", lint = "run", bench = "run",
      install = "run" } do
      has(targets, ("\n%s: %s\n"):format(name, rule))
    end
    local function commands(name) return succeed("ninja -t commands " .. name).out end
    for name, command in pairs { test = "scripts/test --no-setup", lint = "scripts/lint", bench = "scripts/bench all",
      install = "scripts/install build /opt/x " .. setting "version" } do
      assert.equal(command, last_line(commands(name)))
    end
    local all, install = commands "all", commands "install"
    for _, file in ipairs { "libsymm.a", "libsymm.so.0", "libsymmlua.so.0", "symm.so", "symmrun",
      "tests/unit/registry_test" } do
      has(all, " build/" .. file .. " ")
      has(install, " build/" .. file .. " ")
    end
    assert.equal(all, commands "") -- what `ninja` alone makes
  end)

  it("makes each test in C when tests are asked for", function()
    succeed "scripts/configure"
    local commands = succeed("ninja -t commands tests").out
    local count = 0
    for path in succeed("find tests -name '*_test.c'").out:gmatch "([^\n]+)%.c\n" do
      has(commands, ("-o build/%s %s.c"):format(path, path))
      count = count + 1
    end
    assert.is_true(count > 20)
  end)

  -- ---- who asks for -Werror ----

  for _, case in ipairs { { nil, "leaves", lacks }, { "true", "makes errors of", has } } do
    local ci, verb, expect = case[1], case[2], case[3]

    it(("scripts/test %s warnings with CI=%s"):format(verb, ci), function()
      program("ninja", [[case "$1" in -f) exit 3 ;; esac]]) -- the sanitizers' build ends it
      assert.equal(3, shell("scripts/test --no-setup", { CI = ci }).code)
      expect(setting "cflags", "-Werror")
      expect(setting("cflags", "build/asan"), "-Werror")
    end)

    it(("scripts/lint %s warnings with CI=%s, and builds with clang 14"):format(verb, ci), function()
      for _, name in ipairs { "clang-tidy-14", "cppcheck", "luacheck" } do program(name, "exit 0") end
      program("clang-format-14", [[exec cat "$1"]])
      program("git", "exec ls core/base/error.c core/base/error.h")
      program("clang-14", [[case "$*" in *-dM*) printf '#define __clang__ 1\n#define __clang_major__ 14\n' ;;
        *) exec cc "$@" ;; esac]])
      program("ninja", [[echo "$*" >>log; echo '[1/1] cc x.c'; echo 'x.c:1: warning'; test "$CI"]])
      local r = shell("scripts/lint --no-setup", { CI = ci })
      expect(setting "cflags", "-Werror")
      has(setting("cflags", "build/clang"), "-Werror")
      assert.equal("clang-14", setting("cc", "build/clang"))
      assert.equal("-f build/clang/build.ninja all tests\n", log())
      if ci then
        assert.matches("\nclang +ok\n", r.out)
      else -- where the fake ninja failed
        assert.equal(1, r.code)
        assert.matches("\nclang +FAIL\nx.c:1: warning\n", r.out)
        assert.matches("lint: failed: [^\n]*%f[%w]clang%f[^%w-]", r.out)
      end
    end)
  end

  it("scripts/demo leaves warnings, and has four ranks reduce", function()
    debian(0)
    program("ninja", [[echo "ninja $*" >>log; printf '#!/bin/sh\necho "$*" >>log\n' >build/symmrun
      chmod +x build/symmrun]])
    succeed("scripts/demo", { ABSENT = "" })
    lacks(setting "cflags", "-Werror")
    assert.equal("ninja build/symmrun\n-n 4 scripts/examples/npy_all_reduce.lua scripts/examples/data/samples.npy\n",
      log())
  end)

  it("CI says that it is CI, starts ranks under MPI, and runs both whatever they say", function()
    succeed "mkdir build build/scripts build/.ci && cp .ci/run build/.ci/"
    for name, code in pairs { setup = 0, lint = 1, test = 0 } do
      program(name, ([[echo "${0##*/} $* CI=$CI" | sed 's/  */ /g' >>../log; exit %d]]):format(code))
      succeed(("mv bin/%s build/scripts/"):format(name))
    end
    assert.equal(1, shell("cd build && .ci/run").code)
    assert.equal("setup --lint --mpi CI=true\nlint CI=true\ntest CI=true\n", log())
  end)
end)
