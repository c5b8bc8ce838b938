# SimGrid::SimGrid, for SimGrid >= 3.32, which installs no find module of its own. Honours SimGrid_ROOT.
find_path(SimGrid_INCLUDE_DIR simgrid/version.h)
find_library(SimGrid_LIBRARY simgrid)
mark_as_advanced(SimGrid_INCLUDE_DIR SimGrid_LIBRARY)

if(SimGrid_INCLUDE_DIR)
  foreach(part MAJOR MINOR PATCH)
    file(STRINGS ${SimGrid_INCLUDE_DIR}/simgrid/version.h line REGEX "define SIMGRID_VERSION_${part} +[0-9]+")
    string(REGEX REPLACE ".*VERSION_${part} +([0-9]+).*" "\\1" SimGrid_${part} "${line}")
  endforeach()
  set(SimGrid_VERSION ${SimGrid_MAJOR}.${SimGrid_MINOR}.${SimGrid_PATCH})
endif()

include(FindPackageHandleStandardArgs)
find_package_handle_standard_args(SimGrid REQUIRED_VARS SimGrid_LIBRARY SimGrid_INCLUDE_DIR
                                  VERSION_VAR SimGrid_VERSION)

if(SimGrid_FOUND AND NOT TARGET SimGrid::SimGrid)
  add_library(SimGrid::SimGrid UNKNOWN IMPORTED)
  set_target_properties(SimGrid::SimGrid PROPERTIES IMPORTED_LOCATION ${SimGrid_LIBRARY}
                                                    INTERFACE_INCLUDE_DIRECTORIES ${SimGrid_INCLUDE_DIR})
endif()
