#pragma once
#include <filesystem>

namespace linkcast {

/// Path of linkcast: solvers execute it anew as a worker, and its modules and data lie near it. The running program,
/// unless set_worker_program() named another one.
[[nodiscard]] std::filesystem::path worker_program();

/// For a process that is not linkcast, e.g. a Python interpreter: once, when the library is loaded.
void set_worker_program(std::filesystem::path program);

}  // namespace linkcast
