#pragma once
#include <filesystem>
#include <string>

namespace linkcast {

/// Path of linkcast: solvers execute it anew as a worker, and its modules and data lie near it. The running program,
/// unless set_worker_program() named another one.
[[nodiscard]] std::filesystem::path worker_program();

/// Symbol of a module of linkcast: a library that lies where the program does, and is never closed.
/// @throws InputError  it or one of its libraries is missing
[[nodiscard]] void* module_symbol(const std::string& module, const char* symbol);

/// For a process that is not linkcast, e.g. a Python interpreter: once, when the library is loaded.
void set_worker_program(std::filesystem::path program);

}  // namespace linkcast
