#pragma once
// NCCL as its wheel ships it has the CUDA runtime inside. Its functions are found by their names in the symbol table
// and made to jump to stand-ins.

namespace linkcast::choices {

/// Loads libnccl.so and redirects, on all x86-64 versions that ship their symbols (2.13 to 2.30 do).
/// @returns  what dlsym takes
/// @throws std::runtime_error  not to be opened, or without the runtime's symbols
void* load_nccl(const char* path);

}  // namespace linkcast::choices
