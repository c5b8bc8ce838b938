#pragma once
#include <string>
#include <string_view>

#include "sim/base/object_reader.hpp"

namespace linkcast {

/// Whether bytes begin as a pickle of protocol 2 or later does.
bool is_pickle(std::string_view bytes);

/// The data in a pickle of Python: None, numbers, texts, lists, tuples, dictionaries. A pickle is a program, and this
/// reader knows only its instructions that make data: what names code (GLOBAL, REDUCE, BUILD, persistent ids, ...) is
/// refused, so that nothing can be run, whoever wrote the file.
/// Keys that are numbers become texts; a dictionary's key in `skip` is left out with its value.
/// @throws InputError  file and byte; more values than any such file holds
Json read_pickle(std::string_view bytes, const std::string& file, std::string_view skip = "");

}  // namespace linkcast
